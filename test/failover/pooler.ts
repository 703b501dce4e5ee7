import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../helpers/free-port.js'

export type PoolMode = 'session' | 'transaction' | 'statement'

/** A PgBouncer in front of a server. */
export interface Pooler {
  /** Of the given database, `postgres` by default. */
  url(database?: string): string
  /** Ends it with a signal, and starts it again on the same port. */
  restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  stop(): Promise<void>
}

const UNPRIVILEGED_ID = 65_534
const START_PATIENCE_MS = 15_000

/** Starts PgBouncer, which must be installed, in front of the server of this URL, for all of its databases. */
export async function startPooler(server: string, mode: PoolMode): Promise<Pooler> {
  // PgBouncer refuses to run as root. This is `nobody`.
  const identity = process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {}
  const home = mkdtempSync(join(tmpdir(), 'compat-router-pooler-'))
  const port = await freePort()
  const { hostname, port: serverPort, username } = new URL(server)
  const users = join(home, 'users.txt')
  const settings = join(home, 'pgbouncer.ini')
  writeFileSync(users, `"${username}" ""\n`)
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = 40
max_client_conn = 500
server_idle_timeout = 3
server_login_retry = 1
`,
  )
  if (identity.uid !== undefined) {
    for (const path of [home, users, settings]) chownSync(path, identity.uid, identity.gid)
  }
  let running: ChildProcess | undefined

  async function start(): Promise<void> {
    const started = spawn('pgbouncer', [settings], {
      ...identity,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    })
    let said = ''
    started.stderr.on('data', (text) => {
      said = (said + text).slice(-4_000)
    })
    const failed = new Promise<never>((_, reject) => {
      started.once('error', (cause) => {
        reject(new Error('PgBouncer is not installed: apt-get install pgbouncer', { cause }))
      })
      started.once('close', () => reject(new Error(`PgBouncer did not start: ${said}`)))
    })
    failed.catch(() => undefined)
    await Promise.race([failed, listening(port)])
    running = started
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = running
    running = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    await gone
  }

  try {
    await start()
  } catch (error) {
    rmSync(home, { recursive: true })
    throw error
  }
  return {
    url: (database = 'postgres') => `postgres://${username}@127.0.0.1:${port}/${database}`,
    async restart(signal) {
      await end(signal)
      await start()
    },
    async stop() {
      await end('SIGKILL')
      rmSync(home, { recursive: true })
    },
  }
}

/** Resolves when something accepts connections. */
async function listening(port: number): Promise<void> {
  const until = performance.now() + START_PATIENCE_MS
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch (error) {
      if (performance.now() > until) throw error
      await delay(20)
    } finally {
      socket.destroy()
    }
  }
}
