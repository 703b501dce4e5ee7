import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../helpers/free-port.js'
import { codeBlocks } from '../helpers/markdown.js'
import { type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'
import { APPS, type App } from './apps.js'
import type { Place } from './suite.js'

const PAGES = await Promise.all(
  ['frameworks', 'hosts'].map((name) => readFile(join(import.meta.dirname, `../../docs/${name}.md`), 'utf8')),
)
const MANIFEST = JSON.parse(await readFile(join(import.meta.dirname, 'package.json'), 'utf8'))
const DEPENDENCIES = { ...MANIFEST.devDependencies, 'compat-router': '*' }
const FOLDERS = join(import.meta.dirname, '.apps')

/** What the documents call `options`. */
const OPTIONS = `
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders, openaiCompatible } from 'compat-router'
const adapter = openaiCompatible({ baseUrl: process.env.UPSTREAM, apiKey: 'sk-upstream' })
export const options = {
  credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }),
  catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '1000000', output: '2000000' } }]),
  ledger: memoryLedger({ alice: '1000000000' }),
  providers: memoryProviders([{ id: 'p', models: { 'acme/fast': 'm' }, adapter, onDisconnect: 'abort' }]),
}
`

/** A framework's application, built from the lines of the documents and started. */
export class Application implements Place {
  private constructor(
    readonly baseUrl: string,
    readonly upstream: ScriptedUpstream,
    private readonly server: Server,
  ) {}

  /** `folders`: where the folder of the application is made. It must find its packages from there. */
  static async start(
    app: App,
    env: Readonly<Record<string, string>>,
    folders = FOLDERS,
  ): Promise<Application> {
    const upstream = await startScriptedUpstream()
    const folder = join(folders, app.folder ?? app.name)
    const port = String(await freePort())
    const own = {
      ...env,
      ...app.env,
      ASTRO_TELEMETRY_DISABLED: '1',
      NEXT_TELEMETRY_DISABLED: '1',
      HOST: '127.0.0.1',
      PATH: `${join(import.meta.dirname, 'node_modules/.bin')}:${env.PATH}`,
      PORT: port,
      WRANGLER_SEND_METRICS: 'false',
      UPSTREAM: upstream.baseUrl,
    }
    try {
      await make(app, folder, own)
      const place = app.alone === undefined ? folder : await alone(join(folder, app.alone))
      const server = await serve(app.start(port), place, own, port)
      return new Application(`http://127.0.0.1:${port}${app.mount ?? '/compat/v1'}`, upstream, server)
    } catch (error) {
      await upstream.close()
      throw error
    }
  }

  /** What it has printed so far. */
  get printed(): string {
    return this.server.printed
  }

  async close(): Promise<void> {
    const { child } = this.server
    const { pid, exitCode } = child
    const ended = exitCode === null ? once(child, 'exit') : undefined
    // The whole group: some frameworks serve from a process of their own.
    if (exitCode === null) process.kill(-pid!, 'SIGKILL')
    await ended
    await this.upstream.close()
  }
}

/** The program that serves an application. */
interface Server {
  readonly child: ChildProcess
  printed: string
}

/** Copies a file to a folder of its own, of the system's temporary ones, and returns that. */
async function alone(file: string): Promise<string> {
  const folder = join(tmpdir(), 'compat-router-bundles', basename(dirname(dirname(file))))
  await rm(folder, { recursive: true, force: true })
  await cp(file, join(folder, basename(file)))
  // What ends in .js is an ES module.
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

const made = new Map<string, Promise<void>>()

/** Writes and builds an application, unless another one in its folder has. */
function make(app: App, folder: string, env: Readonly<Record<string, string>>): Promise<void> {
  const making =
    made.get(folder) ??
    lay(app, folder, env.PORT!).then(async () => {
      for (const [program, ...args] of app.build ?? []) await build(program!, args, folder, env)
    })
  made.set(folder, making)
  return making
}

/** Writes the files of an application, with the lines of the documents among them. */
async function lay(app: App, folder: string, port: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  const others = APPS.filter(
    ({ file, folder }) => folder !== undefined && folder === app.folder && file !== app.file,
  )
  const blocks = Object.entries(app.blocks ?? {}).map(([file, name]) => ({ file, name }))
  const files = {
    'package.json': JSON.stringify({
      name: `host-${app.name}`,
      private: true,
      type: 'module',
      // Some frameworks install what they do not find here.
      dependencies: DEPENDENCIES,
    }),
    // Without one, some frameworks take the paths of this repository's.
    'tsconfig.json': '{}',
    'options.js': OPTIONS,
    'options.mjs': OPTIONS,
    ...app.files,
    ...Object.fromEntries([app, ...others, ...blocks].map((one) => [one.file, linesOf(one, port)])),
  }
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
}

type Lines = Pick<App, 'file' | 'lines' | 'name'>

function linesOf({ file, lines: own, name }: Lines, port: string): string {
  if (own !== undefined) return own
  const found = PAGES.flatMap((page) =>
    codeBlocks(page).flatMap(({ directives, text }) =>
      directives.app === name || directives.run === name ? { page, text } : [],
    ),
  )
  if (found.length !== 1) throw new Error(`The documents have ${found.length} blocks for ${name}`)
  const [{ page, text }] = found as [(typeof found)[0]]
  if (!page.includes(`\`${file}\``) && file !== 'main.ts') throw new Error(`The page does not name ${file}`)
  const lines = text.replaceAll('3000', port).replaceAll('localhost', '127.0.0.1')
  if (!/\boptions\b/.test(lines) || lines.includes('import { options }')) return lines
  const path = relative(dirname(file), 'options.js')
  return `import { options } from '${path.startsWith('.') ? path : `./${path}`}'\n${lines}`
}

async function build(
  program: string,
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  try {
    await promisify(execFile)(program, args, { cwd: folder, env })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error })
  }
}

/** Starts a program, and waits until it accepts connections. */
async function serve(
  [program, ...args]: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
  port: string,
): Promise<Server> {
  const child = spawn(program!, args, {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const server: Server = { child, printed: '' }
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      server.printed += text
    })
  }
  while (child.exitCode === null) {
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
    if (isUp) return server
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${program} ended:\n${server.printed}`)
}
