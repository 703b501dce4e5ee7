import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'
import { beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SLOW_MS = 120_000
const { exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
const entries = Object.keys(exports)
  .filter((path) => path !== './package.json')
  .map((path) => ({ path, name: path.replace('.', 'compat-router') }))
/** Export types alone. */
const TYPES_ALONE = ['compat-router/stores', 'compat-router/adapters']
const libraries = entries.map(({ name }) => name)

type Names = Readonly<Record<string, readonly string[]>>
const FORMATS = ['import', 'require'] as const
type Format = (typeof FORMATS)[number]

/** Returns what each entry exports at run time. */
async function exportedNames(format: Format): Promise<Names> {
  const [type, load] = format === 'import' ? ['module', 'await import(name)'] : ['commonjs', 'require(name)']
  const code = `
    const names = {}
    for (const name of ${JSON.stringify(libraries)}) names[name] = Object.keys(${load})
    console.log(JSON.stringify(names))`
  // Here the package finds its own build by its name.
  const { stdout } = await run(process.execPath, [`--input-type=${type}`, '--eval', code], { cwd: ROOT })
  return JSON.parse(stdout)
}

const typesOf = (path: string, format: Format): string => join(ROOT, exports[path][format].types)
const program = ts.createProgram(
  entries.flatMap(({ path }) => FORMATS.map((format) => typesOf(path, format))),
  { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.NodeNext, types: ['node'] },
)

/** Returns what the compiler accepts as values of each entry. */
function declaredNames(format: Format): Names {
  const checker = program.getTypeChecker()
  const names = entries.map(({ path, name }) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(typesOf(path, format))!)
    // A file without exports is not a module.
    const values = module === undefined ? [] : checker.getTypeOfSymbol(module).getProperties()
    return [name, values.map((value) => value.name)] as const
  })
  return Object.fromEntries(names)
}

describe.each(FORMATS)('the types for %s', (format) => {
  let exported: Names
  let declared: Names
  beforeAll(async () => {
    exported = await exportedNames(format)
    declared = declaredNames(format)
  }, SLOW_MS)

  it.each(entries)('of $name declare exactly the values that it exports at run time', ({ name }) => {
    expect([...declared[name]!].sort()).toEqual([...exported[name]!].sort())
  })

  it('are compared with the values of every library', () => {
    const empty = libraries.filter((name) => exported[name]!.length === 0)
    expect(empty).toEqual(TYPES_ALONE)
  })
})
