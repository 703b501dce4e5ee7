import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

const START_PATIENCE_MS = 90_000
const STOP_PATIENCE_MS = 5_000

export interface PeerCommand {
  /** Arguments of Node. */
  readonly command: readonly string[]
  readonly directory: string
  /** Its home, where it may read and write. Some peers read the files of other programs there. */
  readonly home: string
  readonly environment?: Readonly<Record<string, string>>
  /** Answers with any status once the peer is ready. */
  readonly readyUrl: string
}

export interface PeerProcess {
  /** Sends SIGKILL, and waits for the end. */
  kill(): Promise<void>
  /** Asks it to end, and kills it if it does not. */
  stop(): Promise<void>
}

export async function startPeer({
  command,
  directory,
  environment,
  home,
  readyUrl,
}: PeerCommand): Promise<PeerProcess> {
  const child = spawn(process.execPath, command, {
    cwd: directory,
    env: { ...process.env, NODE_ENV: 'production', HOME: home, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      said = (said + text).slice(-4_000)
    })
  }
  const gone = once(child, 'exit')
  const stop = (signal: NodeJS.Signals) => end(child, gone, signal)
  const startedAt = performance.now()
  while (!(await answers(readyUrl))) {
    const isLate = performance.now() - startedAt > START_PATIENCE_MS
    if (child.exitCode !== null || isLate) {
      await stop('SIGKILL')
      throw new Error(`${command.join(' ')} did not start: ${said}`)
    }
    await sleep(100)
  }
  return { kill: () => stop('SIGKILL'), stop: () => stop('SIGTERM') }
}

async function end(child: ChildProcess, gone: Promise<unknown>, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  const patience = setTimeout(() => child.kill('SIGKILL'), STOP_PATIENCE_MS)
  await gone
  clearTimeout(patience)
}

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(5_000) })
    return true
  } catch {
    return false
  }
}

/** Asks for a value until it has not changed for this long: some peers record a call after they have answered it. */
export async function untilQuiet<Value>(ask: () => Promise<Value>, quietMs: number): Promise<Value> {
  let before = await ask()
  let since = performance.now()
  while (performance.now() - since < quietMs) {
    await sleep(Math.min(100, quietMs))
    const now = await ask()
    if (!isDeepStrictEqual(now, before)) since = performance.now()
    before = now
  }
  return before
}

export interface JsonRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Asks an administration API. Throws an error with the reply if its status is not 2xx. */
export async function askJson<Answer>(url: string, { body, headers = {}, method = 'GET' }: JsonRequest = {}) {
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 500)}`)
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}
