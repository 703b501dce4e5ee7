import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { seeded } from '../idempotency/proof/random.js'

/** One call as its client sees it, with all attempts under its key. */
export interface ClientCall {
  readonly token: string
  readonly key: string | undefined
  /** How the attempts ended: statuses with codes, or `broken` for a connection or stream that broke. */
  readonly ends: string[]
  /** The ids of the attempts that had an answer. */
  readonly requestIds: string[]
  /** The ids of the whole replies, which have their usage. */
  readonly replies: string[]
}

export interface Callers {
  readonly calls: readonly ClientCall[]
  /** When each process last finished a call, by the monotonic clock. */
  readonly servedAt: readonly number[]
  /** The number of whole replies so far. */
  count(): number
  /** Starts no more calls, and resolves when those that run have ended. */
  stop(): Promise<void>
}

export interface CallersOptions {
  readonly ports: readonly number[]
  readonly tokens: readonly string[]
  /** For each process. */
  readonly callers: number
  readonly seed: number
}

const ATTEMPTS = 100
const PAUSE_MS = 100

/** Calls routers until it is stopped: streams and bodies, at once and at a model's pace, half of them with a key. */
export function startCallers({ ports, tokens, callers, seed }: CallersOptions): Callers {
  const random = seeded(seed)
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!
  const calls: ClientCall[] = []
  const servedAt = ports.map(() => 0)
  let replies = 0
  let isOver = false

  /** Returns whether the client has its answer, and should not ask again. */
  async function attempt(call: ClientCall, index: number, model: string, stream: boolean): Promise<boolean> {
    try {
      const response = await fetch(`http://127.0.0.1:${ports[index]}/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${call.token}`,
          'content-type': 'application/json',
          ...(call.key !== undefined && { 'idempotency-key': call.key }),
        },
        body: JSON.stringify({
          model,
          stream,
          max_tokens: 20,
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      })
      const requestId = response.headers.get('x-request-id')
      if (requestId !== null) call.requestIds.push(requestId)
      const text = await response.text()
      if (response.status !== 200) {
        const { code } = (JSON.parse(text) as { error: { code: string } }).error
        call.ends.push(`${response.status} ${code}`)
        return response.status !== 503 && code !== 'idempotency_in_flight'
      }
      const isWhole = stream ? text.trimEnd().endsWith('data: [DONE]') && !text.includes('"error"') : true
      call.ends.push(isWhole ? '200' : 'broken')
      if (isWhole) {
        call.replies.push(/"id":"([^"]+)"/.exec(text)![1]!)
        servedAt[index] = performance.now()
        replies++
      }
      return true
    } catch {
      call.ends.push('broken')
      return false
    }
  }

  async function work(own: number): Promise<void> {
    while (!isOver) {
      const key = random() < 0.5 ? randomUUID() : undefined
      const call: ClientCall = { token: pick(tokens), key, ends: [], requestIds: [], replies: [] }
      const [model, stream] = [pick(['fast', 'paced']), random() < 0.5]
      calls.push(call)
      for (let tries = 1; tries <= ATTEMPTS; tries++) {
        // A repeat comes to any process.
        const index = tries === 1 ? own : Math.floor(random() * ports.length)
        if (await attempt(call, index, model, stream)) break
        await delay(PAUSE_MS)
        if (key === undefined) break
      }
    }
  }

  const running = ports.flatMap((_, index) => Array.from({ length: callers }, () => work(index)))
  return {
    calls,
    servedAt,
    count: () => replies,
    async stop() {
      isOver = true
      await Promise.all(running)
    },
  }
}
