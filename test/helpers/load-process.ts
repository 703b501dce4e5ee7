import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { programFile } from './program.js'

export interface LoadProcess {
  /** Ids that the process has written: of settlements that the ledger has acknowledged, or of calls that were kept. */
  readonly acknowledged: ReadonlySet<string>
  /** Resolves when so many have been acknowledged, or the process has ended. */
  until(count: number): Promise<void>
  kill(): Promise<void>
  /** Resolves when it ends by itself. Rejects if it fails. */
  ended: Promise<void>
}

/** Starts a program of this folder. */
export async function startLoad(load: object, program = 'ledger-load.ts'): Promise<LoadProcess> {
  const child = spawn(
    process.execPath,
    [await programFile(new URL(program, import.meta.url)), JSON.stringify(load)],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const acknowledged = new Set<string>()
  let said = ''
  let hasEnded = false
  let wake: () => void = () => undefined
  child.stderr.on('data', (text) => {
    said = (said + text).slice(-4_000)
  })
  createInterface(child.stdout).on('line', (line) => {
    // The last line of a killed process may be truncated.
    if (/^[0-9a-f]{32}$/.test(line)) acknowledged.add(line)
    wake()
  })
  const closed = once(child, 'close').then(() => {
    hasEnded = true
    wake()
  })
  const ended = closed.then(() => {
    if (child.exitCode !== 0) throw new Error(`The load ended with ${child.exitCode}: ${said}`)
  })
  ended.catch(() => undefined)
  return {
    acknowledged,
    ended,
    async until(count) {
      while (acknowledged.size < count && !hasEnded) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      if (hasEnded) await ended
    },
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}
