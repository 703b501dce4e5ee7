import type { Random } from './random.js'

/** One client's request and behaviour. */
export interface CallPlan {
  readonly id: string
  readonly atMs: number
  readonly process: number
  readonly caller: number
  readonly key: string | undefined
  readonly body: ChatBody
  /** The time until its body arrives, or whether it fails. */
  readonly bodyMs: number
  readonly bodyFails: boolean
  readonly retryCount: number
  readonly leave: LeavePlan | undefined
  readonly slow: SlowPlan | undefined
}

export interface ChatBody {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly stream?: boolean | null
  readonly n?: number | null
  readonly [field: string]: unknown
}

/** The client leaves at a time, or after so many steps of its call, plus some promise turns. */
export type LeavePlan =
  | { readonly after: 'ms'; readonly ms: number }
  | { readonly after: 'steps'; readonly steps: number; readonly turns: number }

/**
 * At every so many writes the client's socket is full for a while. With `stalls` it is full forever from some
 * write on.
 */
export interface SlowPlan {
  readonly every: number
  readonly ms: number
  readonly stallsAt: number | undefined
}

interface PlanOptions {
  readonly callers: number
  readonly processes: number
  readonly clientFaults: number
  readonly isContested: boolean
}

const TEXTS = ['', 'Hi', 'How are you today?', 'Größe: 12 µm', '🙂 '.repeat(9), 'word '.repeat(30)]
const BOUNDS = [1, 5, 20, 60, -1, 0, 1.5, '9', 1e30, null]
/** Long after everything else has ended, or near the sweep of holds, or near the expiry of holds. */
const LATE_MS = [20_000, 20_000, 29_990, 100_000]

export function planCalls(random: Random, options: PlanOptions): CallPlan[] {
  const { isContested } = options
  const groups = isContested
    ? 1
    : random.weighted([
        [5, 1],
        [3, 2],
        [2, 4],
        [0.3, 9],
      ])
  const calls: CallPlan[] = []
  for (let group = 0; group < groups; group++) {
    const atMs = random.weighted([
      [3, 0],
      [2, random.int(0, 30)],
      [1, random.int(0, 400)],
    ])
    const caller = random.int(0, options.callers - 1)
    const body = planBody(random)
    const keyed = isContested || random.chance(0.4)
    const requests = keyed ? random.int(isContested ? 3 : 1, 4) : 1
    for (let request = 0; request < requests; request++) {
      const later = random.pick([
        0,
        random.int(0, 60),
        isContested ? 30 : random.int(0, 900),
        random.pick(LATE_MS),
      ])
      calls.push({
        id: `call-${group}-${request}`,
        atMs: atMs + (request === 0 ? 0 : later),
        process: random.int(0, options.processes - 1),
        caller,
        key: keyed ? `key-${group}` : undefined,
        body: request > 0 && random.chance(0.06) ? planBody(random) : body,
        bodyMs: random.chance(0.1) ? random.int(1, 40) : 0,
        bodyFails: random.chance(0.01),
        retryCount: request,
        leave: random.chance(options.clientFaults) ? planLeave(random) : undefined,
        slow: random.chance(options.clientFaults * 0.5) ? planSlow(random) : undefined,
      })
    }
  }
  return calls
}

function planLeave(random: Random): LeavePlan {
  return random.chance(0.3)
    ? { after: 'ms', ms: random.int(0, 200) }
    : { after: 'steps', steps: random.int(1, 30), turns: random.int(0, 7) }
}

function planSlow(random: Random): SlowPlan {
  return {
    every: random.int(1, 4),
    ms: random.int(1, 90),
    stallsAt: random.chance(0.4) ? random.int(1, 6) : undefined,
  }
}

function planBody(random: Random): ChatBody {
  const messages = Array.from({ length: random.int(1, 2) }, () => ({
    role: 'user',
    content: random.chance(0.1)
      ? [
          { type: 'text', text: random.pick(TEXTS) },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ]
      : random.pick(TEXTS),
  }))
  return {
    model: random.chance(0.02) ? 'acme/unknown' : 'acme/fast',
    messages: random.chance(0.02) ? [] : messages,
    ...(random.chance(0.7) && { stream: true }),
    ...(random.chance(0.25) && { n: random.pick([1, 2, 3, null]) }),
    ...(random.chance(0.5) && { max_tokens: random.pick(BOUNDS) }),
    ...(random.chance(0.15) && { max_completion_tokens: random.pick(BOUNDS) }),
    ...(random.chance(0.12) && { provider: random.pick(['north', 'south']), provider_key: 'v1.a.b.c.d.e' }),
    ...(random.chance(0.1) && { session_id: 'a session' }),
    ...(random.chance(0.1) && { routing: { allow_fallbacks: false } }),
  }
}
