import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))

/** The other rooms that each room may import. */
const BASE = ['base']
const PROTOCOL = [...BASE, 'protocol']
const CONTRACTS = [...PROTOCOL, 'conversation', 'contracts']
const RULES = [...CONTRACTS, 'rules']
const ALLOWED: Record<string, readonly string[]> = {
  base: [],
  protocol: BASE,
  conversation: PROTOCOL,
  contracts: [...PROTOCOL, 'conversation'],
  rules: CONTRACTS,
  engine: RULES,
  replies: RULES,
  operations: [...RULES, 'replies', 'engine'],
  endpoints: [...RULES, 'engine', 'operations'],
  hosts: RULES,
  http: [...RULES, 'hosts'],
  fetch: [...RULES, 'hosts'],
  upstream: BASE,
  providers: [...RULES, 'upstream'],
  envelope: RULES,
  memory: RULES,
  cache: RULES,
  identity: [...RULES, 'cache'],
  sql: RULES,
  testing: RULES,
  'price-lists': RULES,
  opentelemetry: RULES,
  sqlite: [...RULES, 'sql'],
  postgres: [...RULES, 'sql'],
  admin: [...RULES, 'sql'],
  browser: [],
  console: [...RULES, 'admin', 'hosts'],
  connect: [...RULES, 'engine', 'hosts'],
  demo: [...RULES, 'index', 'testing', 'admin', 'console', 'sqlite'],
  cli: [...RULES, 'admin', 'sql', 'sqlite', 'postgres', 'demo'],
  options: [...RULES, 'engine', 'memory', 'print-failures'],
  assemble: [...RULES, 'engine', 'endpoints', 'http', 'options'],
  router: ['assemble', 'http', 'options'],
  handler: ['assemble', 'fetch', 'options'],
  fastify: ['options', 'router'],
  'log-events': RULES,
  'print-failures': [...RULES, 'log-events'],
  stores: [...CONTRACTS, 'cache', 'identity', 'memory'],
  adapters: [...CONTRACTS, 'providers', 'upstream'],
  index: [
    ...RULES,
    'log-events',
    'engine',
    'options',
    'assemble',
    'router',
    'memory',
    'cache',
    'identity',
    'providers',
    'envelope',
  ],
}

/**
 * The rooms of the engine. Each may import those before it. Files outside the rooms may import all of them.
 */
const ENGINE_ROOMS = [
  'events',
  'failures',
  'asking',
  'charging',
  'admission',
  'routing',
  'idempotency',
  'call',
]

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(SRC, name), 'utf8') }))

const room = (name: string): string => name.split('/')[0]!.replace(/\.ts$/, '')

/** As the files are named, without their ending. */
function targetOf(name: string, imported: string): string {
  return relative(SRC, join(dirname(join(SRC, name)), imported)).replace(/\.js$/, '')
}

function importsOf(text: string): string[] {
  return [
    ...text.matchAll(/^(?:import|export)[^'"\n]*?(?:\n[^'"]*?)?from '([^']+)'|^import '([^']+)'/gm),
  ].map((match) => match[1] ?? match[2]!)
}

/** The first lines of all statements that are left when types are erased. */
function valuesOf(text: string): string[] {
  return ts
    .createSourceFile('contract.ts', text, ts.ScriptTarget.Latest)
    .statements.filter((statement) => !isErased(statement))
    .map((statement) => text.slice(statement.getFullStart()).trimStart().split('\n')[0]!)
}

function isErased(statement: ts.Statement): boolean {
  if (ts.isImportDeclaration(statement)) return statement.importClause?.isTypeOnly === true
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly
  return ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)
}

describe('the source tree', () => {
  it('is found by this test', () => {
    expect(files.length).toBeGreaterThan(80)
    expect(files.flatMap(({ text }) => importsOf(text)).length).toBeGreaterThan(200)
  })

  it.each(files)('$name imports only the rooms that it is allowed to', ({ name, text }) => {
    const from = room(name)
    const allowed = ALLOWED[from]
    expect(allowed, `a new room: say in this test what ${from} may import`).toBeDefined()
    for (const imported of importsOf(text)) {
      if (!imported.startsWith('.')) continue
      const target = room(targetOf(name, imported))
      if (target !== from) expect(allowed, `${name} imports ${imported}`).toContain(target)
    }
  })

  it('has only interfaces and types in contracts, since a declared function would not exist at run time', () => {
    const values = files
      .filter(({ name }) => room(name) === 'contracts')
      .flatMap(({ name, text }) => valuesOf(text).map((value) => `${name}: ${value}`))
    expect(values, 'move them to base or rules').toEqual([])
  })

  it('has an engine whose rooms import each other in one direction only, types included', () => {
    for (const { name, text } of files) {
      const [room, inner, file] = name.split('/')
      if (room !== 'engine' || file === undefined) continue
      const position = ENGINE_ROOMS.indexOf(inner!)
      expect(position, `a new room of the engine: say in this test where ${inner} stands`).not.toBe(-1)
      for (const imported of importsOf(text).filter((given) => given.startsWith('.'))) {
        const [target, targetInner, targetFile] = targetOf(name, imported).split('/')
        if (target !== 'engine') continue
        const allowed = targetFile === undefined ? [] : ENGINE_ROOMS.slice(0, position + 1)
        expect(allowed, `${name} imports ${imported}`).toContain(targetInner)
      }
    }
  })

  it.each([
    ['files', (path: string) => path],
    ['folders', (path: string) => dirname(path)],
  ])('has no import cycle of %s, not even through types', (_, placeOf) => {
    const imports = new Map<string, Set<string>>()
    for (const { name, text } of files) {
      const from = placeOf(name.replace(/\.tsx?$/, ''))
      const targets = imports.get(from) ?? new Set()
      for (const imported of importsOf(text).filter((given) => given.startsWith('.'))) {
        const target = placeOf(targetOf(name, imported))
        if (target !== from) targets.add(target)
      }
      imports.set(from, targets)
    }
    const done = new Set<string>()
    const circles: string[] = []
    const follow = (place: string, path: readonly string[]): void => {
      if (path.includes(place)) circles.push([...path.slice(path.indexOf(place)), place].join(' -> '))
      if (done.has(place) || path.includes(place)) return
      for (const imported of imports.get(place) ?? []) follow(imported, [...path, place])
      done.add(place)
    }
    for (const place of imports.keys()) follow(place, [])
    expect(circles).toEqual([])
  })

  it('imports no web framework, and its engine imports neither HTTP nor an HTTP client', () => {
    for (const { name, text } of files) {
      const imports = importsOf(text)
      expect(imports, name).not.toContain('express')
      expect(imports, name).not.toContain('connect')
      // Only its types.
      if (name !== 'fastify.ts') expect(imports, name).not.toContain('fastify')
      else expect(text).not.toMatch(/^import (?!type ).* from 'fastify'/m)
      if (room(name) === 'engine') {
        for (const foreign of ['node:http', 'node:http2', 'node:net', 'undici']) {
          expect(imports, name).not.toContain(foreign)
        }
      }
    }
  })

  it('names undici in one room, besides types: everything else reaches it by #sender', () => {
    const named = files
      .filter(({ text }) => /^(?:import|export) (?!type )[^'\n]*from 'undici/m.test(text))
      .map(({ name }) => dirname(name))
    expect(new Set(named)).toEqual(new Set(['upstream/undici']))
    for (const { name, text } of files) {
      const senders = importsOf(text).filter((imported) => /upstream\/(?:undici|fetch)\//.test(imported))
      expect(senders, name).toEqual([])
    }
  })

  it('names audio and image tokens in one table, in the schema of the database, and in cases for stores', () => {
    const places = files.filter(({ text }) => /audio(?:Input|_input)/.test(text)).map(({ name }) => name)
    expect(places.filter((name) => !name.startsWith('testing/')).sort()).toEqual([
      'base/units.ts',
      'postgres/apply-ledger.ts',
      'sql/tables.ts',
    ])
  })

  it('adds optional members in one way, which is also the quickest: ...(x !== undefined && { x })', () => {
    for (const { name, text } of files) expect(text, name).not.toMatch(/\.\.\.\(.*(?:\? \{\} : |: \{\}\))/)
  })

  it('marks what is private to a class with the word private alone', () => {
    for (const { name, text } of files) expect(text, name).not.toMatch(/\bthis\.#/)
  })

  it('gets time and randomness in engine and memory only from options', () => {
    const forbidden =
      /\bDate\.now\b|\bnew Date\(\)|\bsetTimeout\b|\bsetInterval\b|AbortSignal\.timeout|\brandomUUID\b|\bMath\.random\b/
    for (const { name, text } of files) {
      if (['engine', 'memory'].includes(room(name))) expect(text, name).not.toMatch(forbidden)
    }
  })
})
