import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { version } from '../../src/base/version.js'
import { anchors, relativeLinks } from '../helpers/markdown.js'
import { installPacked, ROOT } from './packed.js'

const run = promisify(execFile)
const SLOW_MS = 240_000
const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
const subpaths = Object.keys(manifest.exports).filter((path) => path !== './package.json')
const libraries = subpaths.map((path) => path.replace(/^\./, 'compat-router'))
/** Entries that export types alone. */
const typesAlone = ['compat-router/stores', 'compat-router/adapters']
/** Peer dependencies that an entry or its types import at once, and the one that `compat-router/sqlite` needs. */
const PEERS = ['@opentelemetry/api', 'fastify', 'libsql']

describe('the packed package', () => {
  let project: string
  let tarball: string

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'compat-router-consumer-'))
    tarball = await installPacked(project, PEERS)
  }, SLOW_MS)

  afterAll(() => rm(project, { recursive: true, force: true }))

  it('reports its own version', () => {
    expect(version).toBe(manifest.version)
  })

  it('contains the build, its documents and nothing else', async () => {
    const names = await readdir(join(project, 'node_modules', 'compat-router'))
    expect(names.sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist',
      'docs',
      'examples',
      'package.json',
    ])
  })

  it('has no broken link in its documents', async () => {
    const folder = join(project, 'node_modules', 'compat-router')
    const names = await readdir(folder, { recursive: true })
    const documents = names.filter((name) => /^(?:docs\/)?[^/]+\.md$/.test(name))
    expect(documents).toContain('README.md')
    const texts = new Map(
      await Promise.all(
        documents.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const),
      ),
    )
    const broken = [...texts].flatMap(([name, text]) =>
      relativeLinks(text)
        .filter((link) => {
          const [path = '', anchor] = link.split('#')
          const target = path === '' ? name : join(dirname(name), path)
          if (!names.includes(target)) return true
          return anchor !== undefined && !anchors(texts.get(target) ?? '').has(anchor)
        })
        .map((link) => `${name}: ${link}`),
    )
    expect(broken).toEqual([])
  })

  it('contains the licence of each package that its pages bundle', async () => {
    const folder = join(project, 'node_modules', 'compat-router', 'dist', 'console')
    const text = await readFile(join(folder, 'licenses.md'), 'utf8')
    for (const name of ['eventsource-parser', 'preact']) {
      expect(text).toMatch(new RegExp(`^## ${name} - [\\d.]+ \\(MIT\\)$`, 'm'))
    }
    expect(text.match(/^Copyright \(c\) .+$/gm)).toHaveLength(2)
  })

  it('can be imported and required through every entry', async () => {
    await writeFile(
      join(project, 'import.mjs'),
      `${libraries.map((specifier, n) => `import * as m${n} from '${specifier}'`).join('\n')}
       console.log(JSON.stringify([${libraries.map((_, n) => `Object.keys(m${n}).length`).join(',')}]))`,
    )
    await writeFile(
      join(project, 'require.cjs'),
      `console.log(JSON.stringify([${libraries.map((specifier) => `Object.keys(require('${specifier}')).length`).join(',')}]))`,
    )
    const imported = JSON.parse((await run(process.execPath, ['import.mjs'], { cwd: project })).stdout)
    const required = JSON.parse((await run(process.execPath, ['require.cjs'], { cwd: project })).stdout)
    for (const [n, specifier] of libraries.entries()) {
      expect(imported[n] > 0, specifier).toBe(!typesAlone.includes(specifier))
      expect(required[n], specifier).toBe(imported[n])
    }
  })

  // Neither Node 20.18 nor Jest can require an ES module, so no dependency may be one.
  it('can be required if only CommonJS is supported', async () => {
    await writeFile(
      join(project, 'strictly.cjs'),
      `${libraries.map((specifier) => `require('${specifier}')`).join('\n')}
       const { generateEnvelopeKey, keyring } = require('compat-router')
       const { sealProviderKey } = require('compat-router/envelope')
       async function open() {
         const ring = keyring([await generateEnvelopeKey('2026-01')])
         const binding = { provider: 'openai', account: 'alice' }
         const envelope = await sealProviderKey({ key: 'sk-own', ...binding }, ring.publicKeys().keys[0])
         console.log((await ring.open(envelope, binding)).secret.reveal())
       }
       open()`,
    )
    const { stdout } = await run(process.execPath, ['--no-experimental-require-module', 'strictly.cjs'], {
      cwd: project,
    })
    expect(stdout.trim()).toBe('sk-own')
  })

  it('may be used with mixed entries and formats: each copy recognises the errors of the others', async () => {
    await writeFile(
      join(project, 'mix.mjs'),
      `import { createRequire } from 'node:module'
       import { CompatError, isCompatError, ProviderError, isProviderError, createSecret } from 'compat-router'
       const other = createRequire(import.meta.url)('compat-router')
       console.log(JSON.stringify([
         CompatError === other.CompatError,
         other.isCompatError(new CompatError('not_found', 'x')) && isCompatError(new other.CompatError('not_found', 'x')),
         other.isProviderError(new ProviderError('status', 'x')) && isProviderError(new other.ProviderError('status', 'x')),
         String(other.createSecret('k')), createSecret('k').reveal(),
       ]))`,
    )
    const { stdout } = await run(process.execPath, ['mix.mjs'], { cwd: project })
    expect(JSON.parse(stdout)).toEqual([false, true, true, '[secret]', 'k'])
  })

  it('answers a request in an app of ten lines', async () => {
    await writeFile(
      join(project, 'app.cjs'),
      `const http = require('node:http')
       const { createCompatRouter, memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } = require('compat-router')
       const router = createCompatRouter({
         basePath: '/v1',
         credentials: memoryCredentials({ 'sk-1': { kind: 'api-key', account: 'a' } }),
         catalogue: memoryCatalogue([{ id: 'm', prices: { input: '1', output: '1' } }]),
         ledger: memoryLedger({ a: '1' }),
         providers: memoryProviders([]),
       })
       const server = http.createServer((req, res) => router(req, res)).listen(0, '127.0.0.1', async () => {
         const answer = await fetch('http://127.0.0.1:' + server.address().port + '/v1/models', { headers: { authorization: 'Bearer sk-1' } })
         console.log((await answer.json()).data[0].id)
         await router.close()
         server.close()
       })`,
    )
    expect((await run(process.execPath, ['app.cjs'], { cwd: project })).stdout.trim()).toBe('m')
  })

  it("serves the console's pages, and loads them only if they are imported", async () => {
    await writeFile(
      join(project, 'console.cjs'),
      `const http = require('node:http')
       const { createConsole } = require('compat-router/console')
       const pages = createConsole({ admin: { entries: { list() {} } }, authorise: () => undefined })
       const server = http.createServer((req, res) => pages(req, res)).listen(0, '127.0.0.1', async () => {
         const at = 'http://127.0.0.1:' + server.address().port
         const page = await (await fetch(at)).text()
         const [, script] = /<script[^>]* src="\\.([^"]+)"/.exec(page)
         console.log(JSON.stringify([page.slice(0, 15), (await fetch(at + script)).status]))
         server.close()
       })`,
    )
    const { stdout } = await run(process.execPath, ['console.cjs'], { cwd: project })
    expect(JSON.parse(stdout)).toEqual(['<!doctype html>', 200])
    for (const entry of ['index', 'sqlite', 'postgres', 'admin']) {
      const text = await readFile(join(project, 'node_modules/compat-router/dist', `${entry}.cjs`), 'utf8')
      expect(text, entry).not.toContain('createConsole')
    }
  })

  describe("starts the thread of a SQLite file, which is no entry of the package's own,", () => {
    const program = (specifier: string, file: string) => `
      import { sqliteStores } from '${specifier}'
      const stores = sqliteStores({ file: '${file}' })
      stores.ready().then(async () => {
        await stores.close()
        console.log('ready')
      })`
    const runIt = async (name: string) => (await run(process.execPath, [name], { cwd: project })).stdout

    it('if it is imported or required', async () => {
      const required = program('compat-router/sqlite', 'required.db').replace(
        /import (.+) from (.+)/,
        'const $1 = require($2)',
      )
      await writeFile(join(project, 'sqlite.mjs'), program('compat-router/sqlite', 'imported.db'))
      await writeFile(join(project, 'sqlite.cjs'), required)
      expect([await runIt('sqlite.mjs'), await runIt('sqlite.cjs')]).toEqual(['ready\n', 'ready\n'])
      const typed = "await import('compat-router/sqlite-worker')"
      const told = run(process.execPath, ['--input-type=module', '--eval', typed], { cwd: project })
      await expect(told).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED')
    })

    it('from a bundle that contains the package, beside the installed one', async () => {
      const entry = join(project, 'bundled.js')
      await writeFile(
        entry,
        program(join(project, 'node_modules/compat-router/dist/sqlite.js'), 'bundled.db'),
      )
      await build({
        ...{ config: false, silent: true, entry: [entry], outDir: project, format: ['cjs', 'esm'] },
        outExtension: ({ format }) => ({ js: format === 'cjs' ? '.cjs' : '.mjs' }),
        ...{ noExternal: [/./], external: ['libsql'] },
      })
      expect(await readFile(join(project, 'bundled.mjs'), 'utf8')).not.toMatch(
        /^import .* from ['"]compat-router/m,
      )
      expect([await runIt('bundled.mjs'), await runIt('bundled.cjs')]).toEqual(['ready\n', 'ready\n'])
    })
  })

  it(
    'has types for strict TypeScript, as ESM and as CJS',
    async () => {
      const source = `import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createCompatRouter, memoryLedger, type RouterOptions } from 'compat-router'
import type { LedgerStore } from 'compat-router/stores'
${libraries.map((specifier, n) => `import * as m${n} from '${specifier}'`).join('\n')}
const ledger: LedgerStore = memoryLedger({ a: '1' })
export const make = (options: Omit<RouterOptions, 'ledger'>) => createCompatRouter({ ...options, ledger })
export const servers = (options: RouterOptions) => [
  createServer(createCompatRouter(options)),
  createSecureServer({ allowHTTP1: true }, createCompatRouter(options)),
]
// @ts-expect-error the stores are required
createCompatRouter({})
export const all = [${libraries.map((_, n) => `m${n}`).join(', ')}]
`
      await writeFile(join(project, 'consumer.mts'), source)
      await writeFile(join(project, 'consumer.cts'), source)
      await writeFile(
        join(project, 'tsconfig.json'),
        JSON.stringify({
          compilerOptions: {
            strict: true,
            module: 'node16',
            target: 'es2022',
            noEmit: true,
            types: ['node'],
            typeRoots: [join(ROOT, 'node_modules/@types')],
            skipLibCheck: false,
          },
          files: ['consumer.mts', 'consumer.cts'],
        }),
      )
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
      const result = await run(process.execPath, [tsc, '-p', project], { cwd: project }).catch(
        (error) => error,
      )
      expect(result.stdout).toBe('')
    },
    SLOW_MS,
  )

  it(
    'passes publint and attw, even if packages have no exports',
    async () => {
      const publint = await run('npx', ['publint', '--strict', tarball], { cwd: ROOT }).catch(
        (error) => error,
      )
      expect(publint.code, publint.stdout).toBeUndefined()
      const attw = await run('npx', ['attw', tarball], { cwd: ROOT }).catch((error) => error)
      expect(attw.code, attw.stdout).toBeUndefined()
    },
    SLOW_MS,
  )
})
