import { randomUUID } from 'node:crypto'
import { ChatClient } from '../helpers/chat-client.js'
import type { NewCharges } from './new-charges.js'
import { type Arrival, type BookedProvider, COMPLETION_TOKENS, PROMPT, PROMPT_TOKENS } from './provider.js'
import type { CallScenario, Mode, RetryScenario } from './scenarios.js'
import { compareCharges, type Outcome, type Score } from './score.js'
import type { CallFacts, Gateway, Policy } from './target.js'
import { PRICES, priceOf } from './usage.js'

/** How long a provider waits for the gateway to disconnect after its client has. */
const LINGER_MS = 500
/** How long a client waits for the end of a reply, while no provider is slow. */
const PATIENCE_MS = 10_000
/** How long a client waits for its first token. Some gateways pass nothing on until a reply is whole. */
const FIRST_TOKEN_MS = 1_000

/** A running target with its provider. */
export interface Setting {
  readonly gateway: Gateway
  readonly policy: Policy
  readonly provider: BookedProvider
  /** Undefined if the target has no costs. */
  readonly charges: NewCharges | undefined
}

export interface CallBody {
  readonly mode: Mode
  readonly asksForUsage?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
}

/** The standard call. A key given here is used instead of that of the gateway. */
export function post(
  gateway: Gateway,
  { asksForUsage = true, headers = {}, key, mode }: CallBody,
): ChatClient {
  const token = key ?? gateway.key
  const stream = { stream: true, ...(asksForUsage && { stream_options: { include_usage: true } }) }
  return new ChatClient({
    url: gateway.url,
    headers: { ...gateway.headers, ...(token !== '' && { authorization: `Bearer ${token}` }), ...headers },
    body: {
      model: gateway.model,
      messages: [{ role: 'user', content: PROMPT }],
      max_tokens: COMPLETION_TOKENS,
      ...(mode === 'stream' && stream),
    },
  })
}

export const FULL_USAGE = { prompt: PROMPT_TOKENS, cached: 0, completion: COMPLETION_TOKENS }

/** Plays a scenario of one call, in one mode. */
export async function playCall(
  scenario: CallScenario,
  mode: Mode,
  { charges, gateway, policy, provider }: Setting,
): Promise<Outcome> {
  if (charges === undefined) return { scenario: scenario.name, missing: 'it has no costs' }
  const { asksForUsage, leaves, name, reply } = scenario
  let client: ChatClient | undefined
  provider.follow(reply, async (point, gatewayLeft) => {
    if (point !== leaves) return
    if (point !== 'before the first token') await within(client!.receives('one '), FIRST_TOKEN_MS)
    client!.leave()
    await within(gatewayLeft, LINGER_MS)
  })
  client = post(gateway, { mode, asksForUsage })
  const hasEnded = await ends(client)
  if (provider.book.length > 0) await provider.until((book) => book.every(({ ended }) => ended !== undefined))
  const made = await charges.next()
  const [arrival] = provider.book
  if (arrival === undefined) return refused(scenario.name, mode, client, made)
  const billed = provider.book.reduce((sum, each) => sum + priceOf(each.billed, PRICES), 0n)
  const owed = policy.owes(factsOf(arrival, scenario, mode))
  const due = 'unstated' in owed ? undefined : policy.price(owed.usage)
  return {
    scenario: name,
    mode,
    billed,
    ...compareCharges(made, due, 1),
    overshoot: 0n,
    falseRefusals: 0,
    note: [
      'unstated' in owed ? 'not stated by the target' : (owed.because ?? ''),
      hasEnded ? '' : `its client saw no end of the reply in ${PATIENCE_MS / 1_000} s`,
    ]
      .filter((part) => part !== '')
      .join('; '),
  }
}

/** A call that the gateway refused without asking the provider. */
function refused(scenario: string, mode: Mode, client: ChatClient, made: readonly bigint[]): Score {
  return {
    scenario,
    mode,
    billed: 0n,
    ...compareCharges(made, 0n, 0),
    overshoot: 0n,
    falseRefusals: 1,
    note: `refused with ${client.status}: ${client.text.slice(0, 80)}`,
  }
}

function factsOf(
  arrival: Arrival,
  { leaves, reply }: Pick<CallScenario, 'leaves' | 'reply'>,
  mode: Mode,
): CallFacts {
  const left = leaves === undefined ? 'finished' : 'client left'
  return {
    mode,
    ending: reply.ending === 'whole' ? left : 'provider failed',
    hadOutput: leaves !== 'before the first token' && (reply.ending === 'whole' || mode === 'stream'),
    reported: arrival.reported,
    spelling: reply.spelling,
    reportsOnRequest: reply.usage !== 'never',
    billed: arrival.billed,
    promptText: PROMPT,
    sentText: arrival.sentText,
  }
}

/** Plays a client that loses a reply after the provider has finished, and repeats the call under the same key. */
export async function playRetry(
  { name, reply }: RetryScenario,
  mode: Mode,
  { charges, gateway, policy, provider }: Setting,
): Promise<Outcome> {
  const { idempotencyHeader } = gateway
  if (charges === undefined) return { scenario: name, missing: 'it has no costs' }
  if (idempotencyHeader === undefined) return { scenario: name, missing: 'it documents no safe repeats' }
  const headers = { [idempotencyHeader]: `exactness-${mode}-${randomUUID()}` }
  const point = mode === 'stream' ? 'late' : 'before the first token'
  let first: ChatClient | undefined
  provider.follow(reply, async (at) => {
    if (at !== point || provider.book.length > 1) return
    first!.leave()
    await first!.over
  })
  first = post(gateway, { mode, headers })
  await first.over
  await provider.until((book) => book[0]?.ended !== undefined)
  const second = post(gateway, { mode, headers })
  await ends(second)
  await provider.until((book) => book.every(({ ended }) => ended !== undefined))
  const made = await charges.next()
  const billed = provider.book.reduce((sum, each) => sum + priceOf(each.billed, PRICES), 0n)
  return {
    scenario: name,
    mode,
    billed,
    ...compareCharges(made, policy.price(FULL_USAGE), 1),
    overshoot: 0n,
    falseRefusals: second.status === 200 ? 0 : 1,
    note: `the provider got ${provider.book.length === 1 ? 'one request' : `${provider.book.length} requests`}`,
  }
}

/** Waits for the end of a reply, but not forever, and leaves then. Returns whether it has ended. */
export async function ends(client: ChatClient): Promise<boolean> {
  let isOver = false
  await within(
    client.over.then(() => {
      isOver = true
    }),
    PATIENCE_MS,
  )
  const hasEnded = isOver
  client.leave()
  await client.over
  return hasEnded
}

/** Waits for a promise, but not longer than this. A rejection ends the wait. */
export async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([
    promise.then(
      () => undefined,
      () => undefined,
    ),
    patience,
  ])
  clearTimeout(timer)
}
