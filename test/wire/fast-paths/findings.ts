import { isDeepStrictEqual } from 'node:util'
import { chargeText } from '../../helpers/audited-ledger.js'
import { nanos } from '../../helpers/decimals.js'
import type { Reply } from './client.js'
import type { PlannedCall, Scenario } from './scenario.js'
import { ID } from './settings.js'
import type { Played } from './side.js'
import type { Asked } from './upstream.js'

/** All findings that do not depend on luck, in an order that does not either. */
export interface Findings {
  readonly replies: Readonly<Record<string, object>>
  /**
   * The number of replies to the calls of a prompt that claim to be the reply to another call. Which call
   * comes first is luck.
   */
  readonly replayed: Readonly<Record<string, number>>
  readonly asked: Readonly<Record<string, readonly Asked[]>>
  readonly charges: readonly string[]
  readonly posted: Readonly<Record<string, bigint>>
}

type Entries = Played['accounts']['entries']
type Costs = Readonly<Record<string, bigint>>

const AGAIN = /-again$/
const REPLAYED = 'idempotent-replayed'

export function findingsOf(scenario: Scenario, { accounts, asked, replies }: Played): Findings {
  const calls = scenario.lanes.flat(2)
  const keyed = new Set(calls.filter(({ isKeyed }) => isKeyed).map(({ prompt }) => prompt))
  const charged = new Set(accounts.entries.map(promptOf))
  return {
    replies: Object.fromEntries(calls.map((call) => [call.id, comparable(call, replies.get(call.id))])),
    // A repeat of a call that was not charged either joins it or is sent to the provider again.
    replayed: replaysOf(
      calls.filter(({ prompt }) => charged.has(prompt)),
      replies,
    ),
    // Whether a call and its repeat are both sent is luck. Their requests are the same.
    asked: Object.fromEntries(
      [...asked].map(([reply, requests]) => [
        reply,
        keyed.has(promptIn(reply)) ? distinct(requests) : requests,
      ]),
    ),
    charges: chargesOf(accounts.entries).sort(),
    posted: accounts.posted,
  }
}

/** The cost of each prompt according to the replies, without those whose client did not stay. */
export function costsOnWire(scenario: Scenario, { replies }: Played): Costs {
  const stayed = scenario.lanes.flat(2).filter(({ leaves }) => !leaves)
  return Object.fromEntries(stayed.map(({ id, prompt }) => [prompt, costIn(replies.get(id)?.body ?? '')]))
}

export function costsInLedger(scenario: Scenario, { accounts }: Played): Costs {
  const costs = Object.fromEntries(scenario.lanes.flat(2).map(({ prompt }) => [prompt, 0n]))
  for (const entry of accounts.entries) {
    const prompt = promptOf(entry)
    if (prompt !== undefined) costs[prompt] = (costs[prompt] ?? 0n) + entry.charge!.cost
  }
  return costs
}

function promptOf({ facts }: Entries[number]): string | undefined {
  return facts?.requestId.replace(AGAIN, '')
}

function comparable({ id }: PlannedCall, reply: Reply | undefined): object {
  if (reply === undefined) throw new Error(`There is no reply to ${id}.`)
  const { date: _, [REPLAYED]: __, ...headers } = reply.head.headers
  return { first: reply.head.first, headers, body: reply.body && withoutIds(reply.body) }
}

function replaysOf(calls: readonly PlannedCall[], replies: Played['replies']): Record<string, number> {
  const replayed: Record<string, number> = {}
  for (const { id, prompt } of calls) {
    if (replies.get(id)?.head.headers[REPLAYED] !== undefined) replayed[prompt] = (replayed[prompt] ?? 0) + 1
  }
  return replayed
}

function promptIn(reply: string): string {
  return reply.split(' ')[0]!
}

function distinct(requests: readonly Asked[]): readonly Asked[] {
  return requests.filter(
    (request, index) => requests.findIndex((other) => isDeepStrictEqual(other, request)) === index,
  )
}

/** Replaces ids by numbers in order of appearance. */
function withoutIds(text: string): string {
  const seen = new Map<string, string>()
  return text.replace(ID.pattern, (id) => {
    const known = seen.get(id) ?? `id-${seen.size + 1}`
    seen.set(id, known)
    return known
  })
}

function chargesOf(entries: Entries): string[] {
  return entries.flatMap((entry) => {
    const { charge, facts, postings } = entry
    if (charge === undefined || facts === undefined) return []
    const posted = postings.map(({ account, amount }) => `${account} ${amount}`)
    return [[promptOf(entry), facts.model, facts.provider, chargeText(charge), ...posted].join(' | ')]
  })
}

interface Frame {
  readonly usage?: { readonly cost: number }
  readonly error?: { readonly metadata?: { readonly usage?: { readonly cost: number } } }
}

function costIn(body: string): bigint {
  const last = body
    .split('\n\n')
    .map((frame) => frame.replace(/^data: /, ''))
    .findLast((frame) => frame.startsWith('{'))
  if (last === undefined) return 0n
  const { error, usage } = JSON.parse(last) as Frame
  return nanos(String((usage ?? error?.metadata?.usage)?.cost ?? 0))
}
