import { createAdmin } from 'compat-router/admin'
import type { DurableStores } from 'compat-router/sqlite'
import type { Charge, SettleRequest } from 'compat-router/stores'
import { FAST, SMART } from './stage.js'

export interface SimulatedCalls {
  readonly count: number
  readonly seed: number
  readonly credentialIds: readonly string[]
}

const DAY_MS = 86_400_000
const CONTEXT = { requestId: 'simulated', signal: new AbortController().signal }

/** The linear congruential generator of Numerical Recipes. The same seed gives the same numbers from 0 to 1. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Settles calls of alice and bob, some of them through the app, with amounts that use all nine places. */
export async function simulateCalls(
  stores: DurableStores,
  calls: SimulatedCalls,
): Promise<readonly SettleRequest[]> {
  const random = seeded(calls.seed)
  const requests = Array.from({ length: calls.count }, (_, number) =>
    requestOf(number, calls.credentialIds, random),
  )
  const PAGE = 500
  for (let from = 0; from < requests.length; from += PAGE) {
    await Promise.all(
      requests.slice(from, from + PAGE).map((request) => stores.ledger.settle(request, CONTEXT)),
    )
  }
  return requests
}

function requestOf(number: number, credentialIds: readonly string[], random: () => number): SettleRequest {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
  const account = pick(['alice', 'alice', 'bob'])
  const isSmart = random() < 0.3
  const hasApp = random() < 0.4
  const prompt = 50 + Math.floor(random() * 6_000)
  const completion = 20 + Math.floor(random() * 1_500)
  const base = BigInt(prompt) * (isSmart ? 2_503n : 151n) + BigInt(completion) * (isSmart ? 10_007n : 601n)
  const markup = hasApp ? base / 5n + BigInt(Math.floor(random() * 9)) : 0n
  const charge: Charge = {
    cost: base + markup,
    base,
    markup,
    basis: random() < 0.95 ? 'reported' : 'estimated',
    byok: false,
    priceVersion: '2026-01',
    usage: {
      prompt,
      cached: Math.floor(prompt * random() * 0.6),
      cacheWrite: 0,
      completion,
      reasoning: isSmart ? Math.floor(completion * random() * 0.5) : 0,
    },
  }
  return {
    holdId: `simulated-${number}`,
    charge,
    postings: [
      { account, amount: -charge.cost },
      { account: 'platform', amount: base },
      ...(hasApp ? [{ account: 'notes-earnings', amount: markup }] : []),
    ],
    facts: {
      requestId: `request-${number}`,
      account,
      credentialId: pick(credentialIds),
      model: isSmart ? SMART : FAST,
      provider: random() < 0.7 ? 'acme' : 'other',
      routeId: `acme:${isSmart ? SMART : FAST}`,
      completionId: `chatcmpl-${number}`,
      ...(hasApp ? { appId: 'notes' } : {}),
      ...(random() < 0.3 ? { sessionId: `session-${Math.floor(random() * 20)}` } : {}),
    },
  }
}

/** Spreads the ledger's entries over the last days, a little more each day, for pictures and for sums by day. */
export async function spreadOverDays(stores: DurableStores, days: number): Promise<void> {
  const { database } = stores
  const rows = await database.all({ text: "select id from {entries} where kind = 'charge' order by id" })
  const now = Date.now()
  const statements = rows.flatMap(({ id }, index) => {
    const at = BigInt(Math.floor(now - DAY_MS * days * (1 - Math.sqrt((index + 1) / rows.length))))
    return [
      { text: 'update {entries} set at = ?1 where id = ?2', parameters: [at, id as bigint] },
      { text: 'update {postings} set at = ?1 where entry_id = ?2', parameters: [at, id as bigint] },
    ]
  })
  const PAGE = 2_000
  for (let from = 0; from < statements.length; from += PAGE)
    await database.batch(statements.slice(from, from + PAGE))
  // The totals have the days on which the entries were written.
  await createAdmin(stores).maintenance.rebuildTotals()
}
