import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { createDeferred } from './deferred.js'
import { programFile } from './program.js'
import type { RouterStart } from './router-process.js'

/** A call that streams. */
export interface OpenCall {
  /** Resolves with the whole stream. Rejects if it breaks. */
  readonly text: Promise<string>
  /** Closes the connection of the client. */
  leave(): Promise<void>
}

export interface RouterProcess {
  readonly port: number
  /** The events of the process so far. */
  readonly events: readonly { readonly type: string; readonly [name: string]: unknown }[]
  /** Returns the text of a short call. */
  call(token: string): Promise<string>
  /** Returns the text of the call of {@link open} with this key, asked for again. */
  repeat(token: string, key: string): Promise<string>
  /** Starts a call that goes on until {@link finish}. Resolves when its first bytes have come. */
  open(token: string, key?: string): Promise<OpenCall>
  /** Lets the calls come to their end. */
  finish(): void
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  readonly ended: Promise<unknown>
}

/** Starts a router in a process of its own, which ends with the test. */
export async function startRouter(start: RouterStart): Promise<RouterProcess> {
  const program = await programFile(new URL('router-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(start)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const events: RouterProcess['events'][number][] = []
  const port = createDeferred<number>()
  let said = ''
  child.stderr.on('data', (text) => {
    said = (said + text).slice(-4_000)
  })
  child.stdin.on('error', () => undefined)
  createInterface(child.stdout).on('line', (line) => {
    const read = JSON.parse(line) as { port?: number; event?: RouterProcess['events'][number] }
    if (read.port !== undefined) port.resolve(read.port)
    if (read.event !== undefined) events.push(read.event)
  })
  const listening = await Promise.race([port.promise, ended])
  if (typeof listening !== 'number') throw new Error(`The router did not start: ${said}`)

  const ask = (model: string, token: string, key?: string) =>
    fetch(`http://127.0.0.1:${listening}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: JSON.stringify({
        model,
        stream: true,
        max_tokens: 1_000,
        messages: [{ role: 'user', content: 'Hello there' }],
      }),
    })
  return {
    port: listening,
    events,
    ended,
    call: async (token) => (await ask('fast', token)).text(),
    repeat: async (token, key) => (await ask('slow', token, key)).text(),
    async open(token, key) {
      const { body, status } = await ask('slow', token, key)
      const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
      let all = (await reader.read()).value ?? ''
      if (status !== 200) throw new Error(all)
      const text = (async () => {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) return all
          all += value
        }
      })()
      text.catch(() => undefined)
      return { text, leave: () => reader.cancel() }
    },
    finish: () => void child.stdin.write('finish\n'),
    signal: (name) => void child.kill(name),
  }
}
