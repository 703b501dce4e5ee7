import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type StandIn, startStandIn } from '../../src/testing/stand-in/stand-in.js'
import { freePort } from '../helpers/free-port.js'
import { type CodeBlock, codeBlocks } from '../helpers/markdown.js'
import { installPacked, ROOT } from './packed.js'

const run = promisify(execFile)
const SLOW_MS = 240_000
const PEERS = ['@opentelemetry/api', 'fastify', 'libsql', 'oidc-provider']
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
)
const textOf = new Map(PAGES.map((page) => [page, readFileSync(join(ROOT, page), 'utf8')] as const))
/** The pages that tell how the files begin that others import. */
const SHARED: Readonly<Record<string, string>> = {
  'stores.mjs': 'docs/durable.md',
  'options.mjs': 'docs/hosts.md',
}
const UPSTREAM_KEY = 'sk-upstream-for-the-pages'
const SECRET_KEY = '6'.repeat(64)
const ENV_FILE = Object.entries({
  OPENAI_API_KEY: UPSTREAM_KEY,
  SECRET_KEY,
  CONNECT_SECRET: '7'.repeat(64),
  STRIPE_SECRET_KEY: 'sk_test_for_the_pages',
  STRIPE_WEBHOOK_SECRET: 'whsec_for_the_pages',
  INTROSPECTION_SECRET: 'for the pages',
})
  .map(([name, value]) => `${name}=${value}\n`)
  .join('')

/** A program that a page shows, whose first line is the name of its file. */
interface Program extends CodeBlock {
  readonly page: string
  readonly file: string
}

const programs = PAGES.flatMap((page) =>
  codeBlocks(textOf.get(page)!).flatMap((block): Program[] => {
    const file = /^\/\/ ([\w-]+\.\w+)\n/.exec(block.text)?.[1]
    return file === undefined || block.directives.run === undefined ? [] : [{ ...block, page, file }]
  }),
)
/** Files without a command of their own. */
const MODULES = new Set(['stores.mjs', 'options.mjs', 'plans.mjs'])
const started = programs.filter(({ file }) => !MODULES.has(file))

let upstream: StandIn
let packed: string
/** The folder `.data` as the commands of the page about durable stores leave it, and the key that they print. */
let data: string
let issued: string
const folders: string[] = []
let running: ChildProcess[] = []

beforeAll(async () => {
  upstream = await startStandIn({ apiKey: UPSTREAM_KEY, models: ['gpt-4o-mini'], tokenDelayMs: 0 })
  packed = await emptyFolder()
  await installPacked(packed, PEERS)
  const folder = await folderWith([])
  const page = codeBlocks(textOf.get('docs/durable.md')!)
  const commands = page.find(({ directives }) => directives.check === 'commands')!.text
  const route = page.find(({ directives }) => directives.check === 'route')!.text
  await writeFile(join(folder, 'route.json'), withTestAddresses(route, 0))
  const secrets = { PROVIDER_SECRET: UPSTREAM_KEY, COMPAT_ROUTER_SECRET_KEYS: `2026-01:${SECRET_KEY}` }
  const { stdout } = await run('sh', ['-ec', commands], {
    cwd: folder,
    env: { ...environment(), ...secrets },
  })
  issued = /\bsk-cr-\S+/.exec(stdout)![0]
  data = join(folder, '.data')
}, SLOW_MS)

afterEach(async () => {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await ended
  }
  running = []
})

afterAll(async () => {
  await upstream?.close()
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })))
})

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'compat-router-paste-'))
  folders.push(folder)
  return folder
}

/** Returns an empty folder with the packed package, and those packages that the pages say to install. */
async function folderWith(pages: readonly string[]): Promise<string> {
  const folder = await emptyFolder()
  const modules = join(folder, 'node_modules')
  const commands = pages.flatMap((page) => [
    ...textOf.get(page)!.matchAll(/^npm install ([^\n]+)|`npm install ([^`]+)`/gm),
  ])
  const names = new Set(commands.flatMap(([, line, span]) => (line ?? span!).split(' ')))
  for (const name of names) {
    const bare = name.replace(/(?<=.)@\d+$/, '')
    if (bare !== 'compat-router') await link(join(ROOT, 'node_modules', bare), join(modules, bare))
  }
  await link(join(packed, 'node_modules', 'compat-router'), join(modules, 'compat-router'))
  const program = join('.bin', 'compat-router')
  await link(join(packed, 'node_modules', program), join(modules, program))
  return folder
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await symlink(target, path)
}

function environment(): NodeJS.ProcessEnv {
  return { HOME: process.env.HOME, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
}

function withTestAddresses(text: string, port: number): string {
  return text
    .replaceAll('https://api.openai.com/v1', upstream.baseUrl)
    .replaceAll('3000', String(port))
    .replaceAll('9464', '0')
}

/** The files that a program imports from its own folder, each as a page shows it first. */
function importedBy({ text }: { readonly text: string }): Program[] {
  const names = [...text.matchAll(/from '\.\/([\w-]+\.mjs)'/g)].map((match) => match[1]!)
  return names.map((name) => programs.find(({ file, page }) => file === name && page === SHARED[name])!)
}

/** The command that the page prints for a file. */
function commandOf({ file, page }: Pick<Program, 'file' | 'page'>): string[] {
  const pattern = new RegExp(`(?:^|\`)(node(?: --[\\w=.-]+)* ${file.replace('.', '\\.')})(?:$|\`)`, 'm')
  const [, command] = pattern.exec(textOf.get(page)!) ?? []
  if (command === undefined) throw new Error(`${page} prints no command for ${file}`)
  return command.split(' ')
}

interface Pasted {
  readonly child: ChildProcess
  readonly said: { text: string }
  readonly base: string
}

/** Pastes a program into a folder of its own, and runs it by a command. */
async function paste(program: Program, command = commandOf(program)): Promise<Pasted> {
  const others = importedBy(program)
  const folder = await folderWith([program.page, ...others.map(({ page }) => page)])
  const port = await freePort()
  for (const { file, text } of [program, ...others])
    await writeFile(join(folder, file), withTestAddresses(text, port))
  await writeFile(join(folder, '.env'), ENV_FILE)
  if (/sqliteStores|stores\.mjs/.test(program.text))
    await cp(data, join(folder, '.data'), { recursive: true })
  const [name, ...args] = command
  const child = spawn(name!, args, { cwd: folder, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] })
  running.push(child)
  const said = { text: '' }
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said.text += text
    })
  return { child, said, base: `http://127.0.0.1:${port}` }
}

/** Waits until it answers. Throws what it said if it ends instead. */
async function answering({ base, child, said }: Pasted): Promise<void> {
  const answers = async () => {
    if (child.exitCode !== null) return `It ended: ${said.text}`
    return fetch(base).then(
      () => 'answered',
      () => 'not yet',
    )
  }
  await expect.poll(answers).not.toBe('not yet')
  expect(await answers()).toBe('answered')
}

async function ended({ child, said }: Pasted): Promise<void> {
  if (child.exitCode === null) await once(child, 'close')
  expect([child.exitCode, said.text]).toEqual([0, child.exitCode === 0 ? said.text : ''])
}

/** Makes a call, and returns its cost and what the account has spent since. */
async function charged(base: string, key: string): Promise<{ cost: number; spent: number }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const credits = async () => {
    const reply = await fetch(`${base}/compat/v1/credits`, { headers })
    return ((await reply.json()) as { data: { spent: string; held: string } }).data
  }
  const before = Number((await credits()).spent)
  const reply = await fetch(`${base}/compat/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'acme/fast', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  const body = (await reply.json()) as { usage?: { cost: number } }
  expect([reply.status, body.usage?.cost]).toEqual([200, expect.any(Number)])
  await expect.poll(async () => (await credits()).held).toBe('0')
  return { cost: body.usage!.cost, spent: Number((await credits()).spent) - before }
}

async function completesAndCharges(pasted: Pasted, key: string): Promise<void> {
  await answering(pasted)
  const { cost, spent } = await charged(pasted.base, key)
  expect(cost).toBeGreaterThan(0)
  expect(spent).toBeCloseTo(cost, 9)
}

const keyFor = ({ text }: Program) => (/sqliteStores|stores\.mjs/.test(text) ? issued : 'sk-demo')
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const readsTypeScript = major > 22 || (major === 22 && minor >= 18)
/** Whether this version of Node is one that the page of a program asks for. */
const isSupported = ({ file, text }: Program) =>
  (readsTypeScript || !file.endsWith('ts')) && (major >= 22 || !text.includes('compat-router/connect'))

describe('a program of the documents, pasted into an empty folder and run by the command of its page,', () => {
  it('is found on every page that shows one', () => {
    expect(started.length).toBeGreaterThan(30)
    for (const program of started) expect(commandOf(program)).toContain(program.file)
  })

  it.each(started.filter((program) => program.text.includes('/compat/v1') && isSupported(program)))(
    'completes a call and charges it: $page, $file',
    { timeout: SLOW_MS },
    async (program) => {
      await completesAndCharges(await paste(program), keyFor(program))
    },
  )

  it.each(started.filter(({ text }) => !text.includes('/compat/v1') && text.includes('.listen(')))(
    'serves pages of its own: $page, $file',
    { timeout: SLOW_MS },
    async (program) => {
      await answering(await paste(program))
    },
  )

  it.each(started.filter(({ text }) => !text.includes('.listen(') && !text.includes('/compat/v1')))(
    'does its work and ends: $page, $file',
    { timeout: SLOW_MS },
    async (program) => {
      await ended(await paste(program))
    },
  )

  it('is TypeScript too, which Node runs as it is', { timeout: SLOW_MS }, async ({ skip }) => {
    skip(!readsTypeScript, 'this version of Node reads no TypeScript')
    const [program] = started.filter(({ page }) => page === 'docs/express.md')
    const typed = { ...program!, file: 'server.mts' }
    await completesAndCharges(await paste(typed, ['node', '--env-file=.env', typed.file]), 'sk-demo')
  })

  it('is CommonJS with the lines of its page', { timeout: SLOW_MS }, async () => {
    const [program] = started.filter(({ page }) => page === 'docs/express.md')
    const lines = codeBlocks(textOf.get('docs/express.md')!).find(
      ({ directives }) => directives.run === 'require',
    )
    const text = lines!.text + program!.text.replace(/^import [^']*'[^']*'\n|^\/\/ .*\n/gm, '')
    const required = { ...program!, file: 'server.cjs', text }
    await completesAndCharges(await paste(required, ['node', '--env-file=.env', required.file]), 'sk-demo')
  })
})
