import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import type { CallFacts, Charge } from '../../src/contracts/index.js'
import { EntryLog } from '../../src/memory/entry-log.js'
import { HoldBook, openHold } from '../../src/memory/hold-book.js'

const KEPT = 500
const ROUNDS = 40 * KEPT
/** Each round keeps far more than this until it is forgotten. */
const MOST_BYTES_A_ROUND = 20

it('the memory ledger takes no more memory after many calls than for the latest ones', () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const book = new HoldBook(KEPT)
  const log = new EntryLog(() => 'log', KEPT)
  let count = 0
  function pass(rounds: number): void {
    for (let round = 0; round < rounds; round++) pair(book, log, count++)
  }
  pass(4 * KEPT)
  collect()
  const before = process.memoryUsage().heapUsed
  pass(ROUNDS)
  collect()
  expect((process.memoryUsage().heapUsed - before) / ROUNDS).toBeLessThan(MOST_BYTES_A_ROUND)
  expect(book.settled(`settled-${count - 1}`)).toBeDefined()
  expect(log.read({ limit: 1 }).entries).toMatchObject([{ holdId: `settled-${count - 1}` }])
})

/** A hold that is settled, and one that expires and is never reported. */
function pair(book: HoldBook, log: EntryLog, count: number): void {
  const [holdId, expiring] = [`settled-${count}`, `expiring-${count}`]
  const facts: CallFacts = { requestId: holdId, account: 'alice', credentialId: 'c', model: 'acme/fast' }
  for (const id of [holdId, expiring]) {
    const request = { holdId: id, account: 'alice', amount: 5n, ttlMs: 1, facts }
    book.add(openHold(request, { amount: request.amount, claim: `claim-${id}`, steps: undefined }, count))
  }
  const usage = { prompt: count, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 }
  const charge: Charge = { cost: 5n, base: 5n, markup: 0n, basis: 'reported', byok: false, usage }
  book.settle(holdId, { claim: `claim-${holdId}`, charge, position: 0 })
  book.expire(count + 1, () => {})
  log.add({ at: count, kind: 'charge', postings: [], holdId, charge, facts })
}
