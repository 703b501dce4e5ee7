import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../connect/user-agent.js'
import { freePort } from '../helpers/free-port.js'
import { installPacked, ROOT } from './packed.js'

const SLOW_MS = 240_000
const manifestOf = (folder: string) => JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
const own = manifestOf('.')
const example = manifestOf('examples/saas')
const folders: string[] = []
let packed: string
let running: ChildProcess | undefined

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'compat-router-examples-'))
  folders.push(folder)
  return folder
}

beforeAll(async () => {
  packed = await emptyFolder()
  await installPacked(packed, ['libsql', 'oidc-provider', 'pg'])
}, SLOW_MS)

afterEach(async () => {
  if (running !== undefined && running.exitCode === null && running.signalCode === null) {
    const ended = once(running, 'close')
    running.kill('SIGKILL')
    await ended
  }
})

afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

/** Copies the example out of the packed package, with the packages of its manifest beside it. */
async function copied(): Promise<string> {
  const folder = await emptyFolder()
  await cp(join(packed, 'node_modules/compat-router/examples/saas'), folder, { recursive: true })
  for (const name of Object.keys(example.dependencies)) {
    const path = join(folder, 'node_modules', name)
    await mkdir(dirname(path), { recursive: true })
    await symlink(join(name === 'compat-router' ? packed : ROOT, 'node_modules', name), path)
  }
  await mkdir(join(folder, 'node_modules/.bin'))
  await symlink('../tsx/dist/cli.mjs', join(folder, 'node_modules/.bin/tsx'))
  return folder
}

interface Started {
  readonly child: ChildProcess
  readonly said: { text: string }
}

function start(folder: string, script: string, port: number): Started {
  const { HOME, PATH } = process.env
  const [, ...args] = example.scripts[script].split(' ')
  // npm would stand between this test and the signals.
  const child = spawn(process.execPath, [join(folder, 'node_modules/tsx/dist/cli.mjs'), ...args], {
    cwd: folder,
    env: { HOME, PATH, PORT: String(port), TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running = child
  const said = { text: '' }
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said.text += text
    })
  return { child, said }
}

describe('the example that sells access, copied out of the packed package into an empty folder,', () => {
  it('has a manifest with the versions that the package is tested with', () => {
    const { 'compat-router': router, ...others } = example.dependencies
    expect(router).toBe(`^${own.version}`)
    expect(own.devDependencies).toMatchObject(others)
  })

  it('sells credits and charges a call without any service of others', { timeout: SLOW_MS }, async () => {
    const folder = await copied()
    const port = await freePort()
    const { child, said } = start(folder, 'demo', port)
    await expect
      .poll(() => child.exitCode ?? /http:\S+\/sign-in/.test(said.text), { timeout: 60_000 })
      .toBe(true)
    const origin = `http://127.0.0.1:${port}`
    const agent = new UserAgent(origin)
    const post = (path: string, fields: Record<string, string>) =>
      agent.visit(path, { method: 'POST', body: new URLSearchParams(fields) })
    expect((await post('/sign-up', { email: 'ann@acme.example', password: 'long enough' })).status).toBe(303)

    const checkout = (await post('/top-up', { dollars: '10' })).headers.get('location')!
    expect(await (await fetch(checkout)).text()).toContain('Pay $10')
    // A buyer who clicks twice pays once.
    for (let click = 0; click < 2; click++) {
      const paid = await fetch(checkout, { method: 'POST', redirect: 'manual' })
      expect([paid.status, paid.headers.get('location')]).toEqual([303, `${origin}/keys`])
    }
    const balance = async () => (await (await agent.visit('/keys/balance')).json()) as { posted: string }
    expect((await balance()).posted).toBe('10')

    const made = await (await post('/keys', { label: 'laptop', budget: '5' })).text()
    const [key] = /sk-[\w-]+/.exec(made)!
    const reply = await fetch(`${origin}/compat/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/fast', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    const { usage } = (await reply.json()) as { usage: { cost: number } }
    expect(usage.cost).toBeGreaterThan(0)
    expect(Number((await balance()).posted)).toBeCloseTo(10 - usage.cost, 9)

    const temporary = async () => (await readdir(folder)).filter((name) => name.startsWith('saas-demo-'))
    expect(await temporary()).toHaveLength(1)
    const ended = once(child, 'close')
    child.kill('SIGTERM')
    await ended
    expect(await temporary()).toEqual([])
  })

  it('names each variable that it lacks, and the command that needs none', { timeout: SLOW_MS }, async () => {
    const folder = await copied()
    const { child, said } = start(folder, 'start', await freePort())
    await once(child, 'close')
    expect(child.exitCode).toBe(1)
    for (const name of [
      'DATABASE_URL',
      'SECRET_KEY',
      'OPENAI_API_KEY',
      'STRIPE_WEBHOOK_SECRET',
      'npm run demo',
    ])
      expect(said.text).toContain(name)
  })
})
