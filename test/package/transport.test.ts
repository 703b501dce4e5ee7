import { access, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const require = createRequire(import.meta.url)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { exports, imports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))

type Form = 'import' | 'require'
const SPECIFIERS = /(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"]([^'"\n]+)['"]/g

/** The static imports of ES modules, which load with them. */
const AT_ONCE = /(?:\bfrom|\bimport)\s*['"]([^'"\n]+)['"]/g

/** Returns every module outside of the package that a built file loads, also through other files. */
async function loadedBy(file: string, pattern = SPECIFIERS, seen = new Set<string>()): Promise<Set<string>> {
  const outside = new Set<string>()
  if (seen.has(file)) return outside
  seen.add(file)
  const text = (await readFile(file, 'utf8')).replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
  for (const [, specifier = ''] of text.matchAll(pattern)) {
    if (!specifier.startsWith('.')) outside.add(specifier)
    else for (const found of await loadedBy(join(dirname(file), specifier), pattern, seen)) outside.add(found)
  }
  return outside
}

const entries = Object.entries<Record<Form, { default: string }> | string>(exports).flatMap(
  ([entry, forms]) =>
    typeof forms === 'string'
      ? []
      : (['import', 'require'] as const).map(
          (form) => [entry, form, join(ROOT, forms[form].default)] as const,
        ),
)

const isUndici = (module: string) => /^undici(?:\/|$)/.test(module)

describe('the way out of the built package', () => {
  it.each(entries)('%s, as %s, loads undici by #sender alone', async (_entry, _form, file) => {
    expect([...(await loadedBy(file))].filter(isUndici)).toEqual([])
  })

  it('is what the adapters load', async () => {
    const [, , file] = entries.find(([entry]) => entry === '.') ?? expect.fail()
    expect(await loadedBy(file)).toContain('#sender')
  })

  it('loads what few hosts need only once they need it', async () => {
    const [, , file] = entries.find(([entry]) => entry === '.') ?? expect.fail()
    expect([...(await loadedBy(file))]).toContain('jose')
    expect([...(await loadedBy(file, AT_ONCE))]).not.toContain('jose')
  })

  it('loads of undici the files of its connections, which are those that all of it has', async () => {
    const files = [...(await loadedBy(join(ROOT, imports['#sender'].node.import)))].filter(isUndici)
    expect(files.sort()).toEqual([
      'undici/lib/core/connect.js',
      'undici/lib/dispatcher/client.js',
      'undici/lib/dispatcher/pool.js',
    ])
    const whole = require('undici')
    const parts = [whole.buildConnector, whole.Client, whole.Pool]
    expect(files.map((name, at) => require(name) === parts[at])).toEqual([true, true, true])
  })

  it.each(Object.entries<Record<Form, string>>(imports['#sender']))(
    'is undici on node alone, and not on %s otherwise',
    async (condition, forms) => {
      for (const form of ['import', 'require'] as const) {
        const file = join(ROOT, forms[form])
        await access(file)
        expect([...(await loadedBy(file))].some(isUndici), file).toBe(condition === 'node')
      }
    },
  )
})
