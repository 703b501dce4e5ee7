import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { httpExamples } from '../docs/.vitepress/http-examples.js'
import { endpointsOf, httpReference, openApiDocument } from '../docs/.vitepress/http-reference.js'
import { GROUPS } from '../docs/.vitepress/sidebar.js'
import packageJson from '../package.json' with { type: 'json' }
import { createAdmin } from '../src/admin/index.js'
import { DEFAULTS, errorCodes } from '../src/index.js'
import { KNOWN_FIELDS } from '../src/protocol/request-fields/known-fields.js'
import { REFUSED_FIELDS } from '../src/protocol/request-fields/refused-fields.js'
import type { DurableStores } from '../src/sqlite/index.js'
import tsup from '../tsup.config.js'
import agentsJson from './agents/package.json' with { type: 'json' }
import { listCommands, nameOf, withCommandTable } from './cli/command-table.js'
import { allEndpoints } from './helpers/all-endpoints.js'
import { anchors, codeBlocks, codeSpans, relativeLinks, tableUnder } from './helpers/markdown.js'
import { adminSignatures, withSignatures } from './package/admin-signatures.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const readme = read('README.md')
const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'test/bench/README.md'],
  ...pages.map((name) => `docs/${name}`),
]
/** About two screens. Everything else belongs on pages of its own. */
const README_BYTES = 9_500

describe('the tables of the documents', () => {
  it('have every endpoint, in the order of the table in the code', () => {
    const routes = tableUnder(read('docs/http-api.md'), 'Routes').map(([route]) => codeSpans(route!)[0])
    const paths = allEndpoints().map(({ method, path }) => `${method} ${path}`)
    expect(routes.slice(0, paths.length)).toEqual(paths)
    expect(routes.slice(paths.length).filter((route) => /^(?:GET|POST) /.test(route!))).toEqual([])
  })

  it('have every limit, with its default', () => {
    const rows = tableUnder(read('docs/options.md'), 'Timeouts, sizes and concurrency').map(
      ([name, value]) => [codeSpans(name!)[0], value!.split(' ')[0]],
    )
    const defaults = Object.entries(DEFAULTS).flatMap(([group, bounds]) =>
      Object.entries(bounds).map(([name, value]) => [`${group}.${name}`, String(value)]),
    )
    const none = ['inFlightPerAccount', 'inFlightPerCredential'].map((name) => [
      `concurrency.${name}`,
      'none',
    ])
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries([...defaults, ...none]))
  })

  it('have every coding agent that is tested, with its version', () => {
    const rows = tableUnder(read('docs/clients.md'), 'Coding agents').map(([, name, version]) => [
      codeSpans(name!)[0],
      version,
    ])
    expect(Object.fromEntries(rows)).toEqual(agentsJson.devDependencies)
  })

  it('have every error code, under its status', () => {
    const rows = tableUnder(read('docs/errors.md'), 'Error codes').flatMap(([status, codes]) =>
      codeSpans(codes!).map((code) => `${status} ${code}`),
    )
    expect(rows.sort()).toEqual(errorCodes.map(({ code, status }) => `${status} ${code}`).sort())
  })

  it('have every admin function', () => {
    const admin = createAdmin({ database: {}, secrets: {}, ledger: {} } as unknown as DurableStores)
    const named = tableUnder(read('docs/admin.md'), 'Functions').flatMap(([group, functions]) =>
      codeSpans(functions!).map((name) => `${codeSpans(group!)[0]}.${name}`),
    )
    const all = Object.entries(admin).flatMap(([group, functions]) =>
      Object.keys(functions).map((name) => `admin.${group}.${name}`),
    )
    expect(named.sort()).toEqual(all.sort())
  })

  it('have the signature of every admin function', () => {
    // If this fails, run npm run api, which writes the reports and this page.
    const signatures = adminSignatures(read('test/package/api/admin.md'))
    const page = read('docs/admin.md')
    expect(page).toBe(withSignatures(page, signatures))
  })

  it('have every command of the command line', () => {
    // If this fails, run npm run api, which writes this page too.
    const page = read('docs/cli.md')
    expect(page).toBe(withCommandTable(page))
  })

  it('have every entry of the package', () => {
    const named = tableUnder(read('docs/entries.md'), 'Install').map(([name]) => codeSpans(name!)[0]!)
    const entries = Object.keys(packageJson.exports).filter((entry) => entry !== './package.json')
    expect(named.sort()).toEqual(entries.map((entry) => packageJson.name + entry.slice(1)).sort())
  })
})

describe('the tables of the request fields', () => {
  const document = read('docs/request-fields.md')

  it('have every known field, with the values that it accepts and why it is safe', () => {
    const rows = tableUnder(document, 'Known fields').flatMap(([names, takes, isSent, why]) =>
      codeSpans(names!).map((name) => [name, takes, isSent, why]),
    )
    const known = [...KNOWN_FIELDS].map(([name, { takes, isDropped, why }]) => [
      name,
      takes,
      isDropped ? 'no' : 'yes',
      why,
    ])
    expect(rows.sort()).toEqual(known.sort())
  })

  it('have every field that is always refused', () => {
    const rows = tableUnder(document, 'Always refused').flatMap(([names]) => codeSpans(names!))
    expect(rows.sort()).toEqual([...REFUSED_FIELDS.keys()].sort())
  })
})

describe('the README', () => {
  it('is short', () => {
    expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(README_BYTES)
  })
})

describe('the commands of the documents', () => {
  const checked = documents.flatMap((name) =>
    codeBlocks(read(name)).filter(({ directives }) => directives.check),
  )
  const linesOf = (check: string) =>
    checked
      .filter(({ directives }) => directives.check === check)
      .flatMap(({ text }) => text.trim().split('\n'))

  it('install only packages that are tested here', () => {
    const lines = linesOf('install').map((line) => line.split(' '))
    expect(lines).toContainEqual(['npm', 'install', packageJson.name])
    const known = [packageJson.name, ...Object.keys(packageJson.devDependencies)]
    expect(lines.flatMap((words) => words.slice(2)).filter((name) => !known.includes(name))).toEqual([])
  })

  it('run only scripts that exist', () => {
    const scripts = linesOf('scripts').map((line) => /npm (?:run )?([\w:]+)/.exec(line)?.[1] ?? line)
    expect(scripts).toEqual(expect.arrayContaining(['ci', 'start', 'test']))
    const known = ['ci', ...Object.keys(packageJson.scripts)]
    expect(scripts.filter((name) => !known.includes(name))).toEqual([])
  })
})

describe('the API reference on the site', () => {
  it('has every entry point of the package that is a library', () => {
    const programs = ['cli', 'demo', 'sqlite-worker', 'sender-undici', 'sender-fetch']
    const entries = Object.entries((tsup as { entry: Record<string, string> }).entry)
    const libraries = entries.filter(([name]) => !programs.includes(name)).map(([, file]) => `../${file}`)
    const { entryPoints } = JSON.parse(read('docs/typedoc.json')) as { entryPoints: string[] }
    expect(entryPoints.sort()).toEqual(libraries.sort())
  })
})

describe('the HTTP reference on the site', () => {
  it('has a request and its reply for every endpoint', async () => {
    const document = await openApiDocument()
    const page = httpReference(document, await httpExamples(endpointsOf(document)))
    const sections = page.split('\n## Schemas')[0]!.split('\n## ').slice(1)
    expect(sections.length).toBeGreaterThan(10)
    for (const section of sections) {
      expect(section).toContain("```sh\ncurl 'http://localhost:3000/compat/v1/")
      if (!section.startsWith('GET /openapi.json')) expect(section).toContain('```json\n{\n')
    }
  })
})

describe('the sidebar of the site', () => {
  it('has every page once, and nothing else except the pages that the build adds', () => {
    const listed = GROUPS.flatMap(({ pages: names }) => names)
    const added = ['http-reference', 'security', 'examples', 'changelog', 'contributing']
    expect(listed.filter((name) => !pages.includes(`${name}.md`))).toEqual(added)
    expect(listed.filter((name, at) => listed.indexOf(name) !== at)).toEqual([])
    expect(pages.filter((name) => !listed.includes(name.slice(0, -3)))).toEqual([])
  })
})

describe('the map in CONTRIBUTING.md', () => {
  const contributing = read('CONTRIBUTING.md')
  const namedIn = (heading: string) =>
    new Set(tableUnder(contributing, heading).flatMap(([names]) => codeSpans(names!)))
  const entriesOf = (folder: string) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter(({ name }) => !name.startsWith('.'))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))

  it('lists every room', () => {
    const named = namedIn('The rooms of the house')
    expect(entriesOf('src').filter((name) => !named.has(name))).toEqual([])
    const rooms = new Set(entriesOf('src'))
    expect(entriesOf('test').filter((name) => !named.has(name) && !rooms.has(name))).toEqual([])
  })

  it('lists every command that is not part of another', () => {
    const named = [...contributing.matchAll(/npm (?:run )?([\w:]+)/g)].map(([, name]) => name)
    const scripts = Object.keys(packageJson.scripts).filter((name) => name !== 'bench:build')
    expect(scripts.filter((name) => !named.includes(name))).toEqual([])
  })
})

describe.each(documents)('the document %s', (name) => {
  it('names only commands that exist', () => {
    const named = [...read(name).matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script!)
    const { scripts } = JSON.parse(read('examples/saas/package.json'))
    const known = { ...packageJson.scripts, ...scripts }
    expect(named.filter((script) => !Object.hasOwn(known, script))).toEqual([])
  })

  it('names only commands of the command line that exist', () => {
    const text = read(name)
    const typed =
      /npx (?:-p [\w-]+ )*compat-router (?:--(?:json|file \S+) )?([a-z][\w-]*(?: [a-z][\w-]*)?)(?![\w-]| --help| [a-z])/g
    const known = listCommands().map(nameOf)
    const named = [...text.matchAll(typed)].map(([, command]) => command!)
    expect(named.filter((command) => !known.includes(command))).toEqual([])
  })

  it('has no broken relative links', () => {
    const text = read(name)
    const broken = relativeLinks(text).filter((link) => {
      const [path, anchor] = link.split('#')
      const file = path === '' ? join(root, name) : resolve(root, dirname(name), path!)
      if (!existsSync(file)) return true
      return anchor !== undefined && !anchors(readFileSync(file, 'utf8')).has(anchor)
    })
    expect(broken).toEqual([])
  })
})

describe('the code of the documents', () => {
  // The column of a page is that wide. Signatures come from declarations, and strings cannot be broken.
  it.each(documents.slice(0, 1).concat(documents.filter((name) => name.startsWith('docs/'))))(
    'fits 80 characters: %s',
    (name) => {
      const wide = codeBlocks(read(name))
        .filter(
          ({ directives, language }) =>
            /^(?:[jt]sx?|json)$/.test(language) &&
            directives.check !== 'signatures' &&
            directives.shows === undefined,
        )
        .flatMap(({ text }) => text.split('\n'))
        .filter((line) => line.length > 80 && !/^ *(['"`])[^ ]*\1,?$/.test(line))
      expect(wide).toEqual([])
    },
  )
})
