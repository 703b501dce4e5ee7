import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const SLOW_MS = 120_000

/** Outside every `node_modules`, like a bundle that is deployed alone. */
const PROGRAM = `
import { createConsole } from ${JSON.stringify(`${DIST}/console.js`)}
import { sqliteStores } from ${JSON.stringify(`${DIST}/sqlite.js`)}
const told = []
try {
  createConsole({ admin: { entries: { list() {} } }, authorise: () => undefined })
} catch (error) {
  told.push(error.message)
}
sqliteStores({ file: 'never-made.db' }).ready().catch((error) => {
  told.push(error.message)
  console.log(JSON.stringify(told))
})
`

describe('a bundle that contains the package', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'compat-router-bundle-'))
    await writeFile(join(folder, 'program.js'), PROGRAM)
    await build({
      config: false,
      entry: [join(folder, 'program.js')],
      outDir: folder,
      format: ['cjs', 'esm'],
      outExtension: ({ format }) => ({ js: format === 'cjs' ? '.cjs' : '.mjs' }),
      noExternal: [/./],
      external: ['libsql'],
      // Any ESM bundle that contains undici needs this.
      banner: ({ format }) =>
        format === 'cjs'
          ? {}
          : {
              js: "import { createRequire as from } from 'node:module'; const require = from(import.meta.url)",
            },
      silent: true,
    })
  }, SLOW_MS)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it.each(['cjs', 'mjs'])('explains, as .%s, which files are missing and how to fix it', async (format) => {
    const { stdout } = await run(process.execPath, [`program.${format}`], { cwd: folder })
    const advice =
      'cannot be found: keep compat-router out of the bundle (with esbuild: --packages=external) and install it where the program runs'
    expect(JSON.parse(stdout)).toEqual([
      `compat-router/dist/console ${advice}`,
      `compat-router/dist/sqlite-worker.cjs ${advice}`,
    ])
  })
})

it('the package has an entry for browsers that imports nothing and is tiny', async () => {
  const text = await readFile(join(DIST, 'browser.js'), 'utf8')
  expect(text).not.toMatch(/\b(?:import|require)\b/)
  expect(text.length).toBeLessThan(4_000)
})

it('the package starts no thread whose files `next build` would look for', async () => {
  const names = (await readdir(DIST)).filter((name) => /\.c?js$/.test(name))
  const texts = await Promise.all(names.map((name) => readFile(join(DIST, name), 'utf8')))
  expect(texts.join()).toContain('extends Worker')
  expect(names.filter((_, index) => /new (?:\w+\.)?Worker\(/.test(texts[index]!))).toEqual([])
})
