import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { programFile } from '../helpers/program.js'
import type { HostSettings } from './host-program.js'

/** A host in another process. */
export interface HostProcess {
  kill(): Promise<void>
}

/** Starts one, and waits until it listens. */
export async function startHost(settings: HostSettings): Promise<HostProcess> {
  const program = await programFile(new URL('host-program.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (text) => {
    said = (said + text).slice(-4_000)
  })
  const closed = once(child, 'close')
  const lines = createInterface(child.stdout)
  await Promise.race([
    once(lines, 'line'),
    closed.then(() => {
      throw new Error(`The host ended with ${child.exitCode}: ${said}`)
    }),
  ])
  return {
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}
