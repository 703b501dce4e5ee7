import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/** A process of the bench. */
export interface Program {
  readonly processId: number
  /** Its message when it was ready. */
  readonly ready: unknown
  ask<Answer>(question: object): Promise<Answer>
  /** Lets it exit by itself, so that it writes a profile. Kills it after five seconds. */
  stop(): Promise<void>
  /** Closes its channel and waits for its end. Returns whether it ended in time. */
  ends(withinMs: number): Promise<boolean>
}

export interface ProgramOptions {
  readonly command: readonly string[]
  readonly core: Core
  readonly directory?: string
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * The system under test has a core of its own. Its clients and upstream share another. A system with a database runs on
 * any core, so that the two may run at once.
 */
export type Core = 'system' | 'load' | 'any'

const CORES: Record<Core, string> = { system: '0', load: '1', any: '0,1' }
const READY_PATIENCE_MS = 180_000
const STOP_PATIENCE_MS = 5_000

/** Whether processes can be pinned to a core. */
export const isPinned =
  availableParallelism() >= 2 && spawnSync('taskset', ['-c', '0,1', 'true'], { stdio: 'ignore' }).status === 0

/** The command that runs one of `programs/`. */
export function programCommand(name: string, setup: object, nodeArguments: readonly string[] = []): string[] {
  const file = fileURLToPath(new URL(`./${name}.js`, import.meta.url))
  return [process.execPath, ...nodeArguments, file, JSON.stringify(setup)]
}

/** Starts a process and waits for its ready message. It ends when this process ends, for any reason. */
export async function startProgram({
  command,
  core,
  directory,
  environment,
}: ProgramOptions): Promise<Program> {
  const [file, ...rest] = isPinned && core !== 'any' ? ['taskset', '-c', CORES[core], ...command] : command
  const child = spawn(file!, rest, {
    ...(directory !== undefined && { cwd: directory }),
    env: { ...process.env, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let said = ''
  child.stderr!.on('data', (text) => {
    said = (said + text).slice(-4_000)
  })
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  const gone = once(child, 'exit').then(([code, signal]) => {
    const error = new Error(`${command.slice(0, 3).join(' ')} ended (${code ?? signal}): ${said}`)
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
    return error
  })
  const ready = await firstMessage(child, gone)
  child.on('message', ({ id, result, error }: { id: number; result: never; error?: string }) => {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) asked?.resolve(result)
    else asked?.reject(new Error(error))
  })
  let lastId = 0

  async function ends(withinMs: number): Promise<boolean> {
    if (child.connected) child.disconnect()
    return within(gone, withinMs)
  }

  return {
    processId: child.pid!,
    ready,
    ask: (question) =>
      new Promise((resolve, reject) => {
        const id = ++lastId
        waiting.set(id, { resolve, reject })
        child.send({ id, question }, (error) => {
          if (error !== null) reject(error)
        })
      }),
    ends,
    async stop() {
      if (await ends(STOP_PATIENCE_MS)) return
      child.kill('SIGKILL')
      await gone
    },
  }
}

async function firstMessage(child: ChildProcess, gone: Promise<Error>): Promise<unknown> {
  const message = once(child, 'message').then(([{ ready }]) => ({ ready: ready as unknown }))
  const first = await Promise.race([message, gone, delay(READY_PATIENCE_MS)])
  if (first === undefined) {
    child.kill('SIGKILL')
    throw new Error(`not ready within ${READY_PATIENCE_MS} ms: ${child.spawnargs.join(' ')}`)
  }
  if (first instanceof Error) throw first
  return first.ready
}

async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return (await Promise.race([promise.then(() => true), delay(ms)])) === true
}

function delay(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref()
  })
}
