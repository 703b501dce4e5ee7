import { createRandom, type Random } from '../../simulation/random.js'
import { someAnthropicReply, someFailure, someReply } from './deliveries.js'
import { someLongRequest } from './long-requests.js'
import { cut, type Segment } from './segments.js'
import { MODELS, TOKENS, UPSTREAM_MODELS } from './settings.js'
import type { Asked, Delivery } from './upstream.js'

export interface PlannedCall {
  /** Sent as `x-request-id`. */
  readonly id: string
  /** How its prompt begins. A repeat has the same prefix as its call, and both are charged as one. */
  readonly prompt: string
  readonly isKeyed: boolean
  readonly request: readonly Segment[]
  /** The client leaves as soon as it has a byte of the body. */
  readonly leaves: boolean
}

/** The use of one kept-alive connection: calls one after the other, some of them sent two at once. */
export type Lane = readonly (readonly PlannedCall[])[]

export interface Scenario {
  readonly lanes: readonly Lane[]
  /** By {@link replyName}. */
  readonly replies: ReadonlyMap<string, Delivery>
}

const MOST_LANES = 40
const MOST_CALLS_A_LANE = 4
const PROMPT = /<(prompt-[^>]+)>/
const FILLERS = ['Say hello.', 'Grüß Gott, 日本 😀', 'x'.repeat(2_000), '"model"\n']
const SHARE_OF_LONG_REQUESTS = 1 / 6

/** Which planned reply a request to the provider asks for. */
export function replyName({ messages, model }: Asked['body']): string {
  return `${PROMPT.exec(JSON.stringify(messages))?.[1]} of ${model}`
}

/** The same seed makes the same scenario. */
export function createScenario(seed: string): Scenario {
  const random = createRandom(seed)
  const replies = new Map<string, Delivery>()
  let prompts = 0
  const next = (): readonly PlannedCall[] => someCalls(random, `prompt-${++prompts}`, replies)
  const lanes = Array.from({ length: random.int(1, MOST_LANES) }, () => {
    const groups = Array.from({ length: random.int(1, MOST_CALLS_A_LANE) }, next)
    return groups.flatMap((calls) => (random.chance(0.5) ? [calls] : calls.map((call) => [call])))
  })
  return { lanes, replies }
}

/** One call, or the same call again under its key, or two that share only their connection. */
function someCalls(random: Random, prompt: string, replies: Map<string, Delivery>): readonly PlannedCall[] {
  const isRefused = random.chance(0.06)
  const kind = isRefused
    ? 'refused'
    : random.weighted([
        [8, 'one'],
        [2, 'repeated'],
        [2, 'two'],
      ] as const)
  if (kind === 'refused') return [someRefusedCall(random, prompt)]
  if (kind === 'two') {
    return ['a', 'b'].map((half) => {
      const name = `${prompt}${half}`
      return planCall(random, name, someBodyText(random, name, replies), { token: TOKENS.alice })
    })
  }
  const token = random.pick([TOKENS.alice, TOKENS.bob])
  const text = someBodyText(random, prompt, replies, kind === 'repeated')
  if (kind === 'one') return [planCall(random, prompt, text, { token, leaves: random.chance(0.08) })]
  const settings = { token, isKeyed: true }
  return [
    planCall(random, prompt, text, settings),
    planCall(random, prompt, text, { ...settings, id: `${prompt}-again` }),
  ]
}

/** A request that never reaches a provider. */
function someRefusedCall(random: Random, prompt: string): PlannedCall {
  const content = `<${prompt}>`
  const ask = JSON.stringify({ model: MODELS.one, messages: [{ role: 'user', content }] })
  return random.pick([
    () => planCall(random, prompt, ask, { token: TOKENS.nobody }),
    () => planCall(random, prompt, ask, { token: TOKENS.pauper }),
    () => planCall(random, prompt, ask.slice(0, -5), { token: TOKENS.alice }),
    () => planCall(random, prompt, ask.replace(MODELS.one, 'acme/none'), { token: TOKENS.alice }),
  ])()
}

/** The text of a request body. The providers' answers to it are added to `replies`. */
function someBodyText(
  random: Random,
  prompt: string,
  replies: Map<string, Delivery>,
  isRepeated = false,
): string {
  const choices = random.chance(0.1) ? 2 : 1
  const model = random.pick([MODELS.one, MODELS.one, MODELS.one, MODELS.two, MODELS.claude])
  const { first, second, claude } = UPSTREAM_MODELS
  const plan = (upstreamModel: string, reply: Delivery) => replies.set(`${prompt} of ${upstreamModel}`, reply)
  const stream = random.chance(0.6)
  plan(first, model === MODELS.two ? someFailure(random) : someReply(random, choices, stream))
  plan(second, someReply(random, choices, stream))
  plan(claude, someAnthropicReply(random))
  const settings = {
    model,
    max_tokens: random.int(1, 500),
    ...(stream && { stream }),
    ...(choices > 1 && model !== MODELS.claude && { n: choices }),
  }
  if (random.chance(SHARE_OF_LONG_REQUESTS)) return someLongRequest(random, prompt, settings, isRepeated)
  const messages = [{ role: 'user', content: `<${prompt}> ${random.pick(FILLERS)}` }]
  return JSON.stringify({ ...settings, messages })
}

interface CallSettings {
  readonly token: string
  readonly id?: string
  readonly isKeyed?: boolean
  readonly leaves?: boolean
}

function planCall(
  random: Random,
  prompt: string,
  body: string,
  { token, id = prompt, isKeyed = false, leaves = false }: CallSettings,
): PlannedCall {
  const key = isKeyed ? `idempotency-key: ${prompt}\r\n` : ''
  const head =
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n${key}` +
    `content-type: application/json\r\nx-request-id: ${id}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return { id, prompt, isKeyed, leaves, request: cut(random, Buffer.from(head + body)) }
}
