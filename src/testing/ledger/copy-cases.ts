import { strict as assert } from 'node:assert'
import {
  assertClaimed,
  assertGranted,
  assertRepeated,
  chargeOf,
  factsOf,
  type LedgerBench,
  type LedgerCase,
  ledgerCase,
} from './bench.js'

/** The ledger copies its input and its output, so that no caller can change it afterwards. */
export const copyCases: readonly LedgerCase[] = [
  ledgerCase(
    'copy-settlement',
    'changes to a charge, passed or returned, do not affect the first charge',
    async (bench) => {
      const { request } = settlementOf(bench)
      const posted = await bench.store.settle(request, bench.context)
      Reflect.set(request.charge, 'cost', 0n)
      Reflect.set(posted.charge, 'base', 0n)
      const repeated = await bench.settle('h', 1n)
      assertRepeated(repeated, chargeOf(12n, 10n))
      Reflect.set(repeated.charge, 'cost', 0n)
      assertRepeated(await bench.settle('h', 1n), chargeOf(12n, 10n))
    },
  ),
  ledgerCase(
    'copy-claimed-charge',
    'changes to the returned charge of a settled claim do not affect the claim',
    async (bench) => {
      await bench.settle('first', 12n, { claim: 'c' })
      const refused = await bench.hold('second', 20n, { claim: 'c' })
      assertClaimed(refused, chargeOf(12n))
      if (!refused.ok && refused.reason === 'claimed') Reflect.set(refused.charge!, 'cost', 0n)
      assertClaimed(await bench.hold('third', 20n, { claim: 'c' }), chargeOf(12n))
    },
  ),
  ledgerCase(
    'copy-hold-facts',
    'changes to the facts of a hold do not affect the report of its expiry',
    async (bench) => {
      const facts = factsOf('alice', { sessionId: 's' })
      const request = { holdId: bench.holdId('h'), account: 'alice', amount: 0n, ttlMs: 1, facts }
      assertGranted(await bench.store.hold(request, bench.context))
      Reflect.set(facts, 'sessionId', 'another')
      await bench.holdAndLapse('later', 1n)
      const expired = await bench.store.expireHolds(100, bench.context)
      const found = expired.find(({ holdId }) => holdId === request.holdId)
      assert.equal(found?.facts.sessionId, 's', 'sessionId of the expired hold')
    },
  ),
  ledgerCase(
    'copy-entries',
    'changes to a settlement or a page do not affect the entries',
    async (bench) => {
      const { request, facts, postings } = settlementOf(bench)
      await bench.store.settle(request, bench.context)
      Reflect.set(facts, 'model', 'another')
      Reflect.set(postings[0]!, 'amount', 0n)
      for (let time = 0; time < 2; time++) {
        const entries = await bench.store.entries?.({ account: 'platform' }, bench.context)
        const entry = entries?.entries[0]
        assert.ok(entry?.facts, 'the settlement must be an entry with its facts')
        assert.equal(entry.facts.model, 'acme/fast')
        assert.deepEqual(
          entry.postings.map(({ amount }) => amount).sort((one, other) => Number(one - other)),
          [-12n, 2n, 10n],
        )
        Reflect.set(entry.facts, 'model', 'another')
        Reflect.set(entry.postings[0]!, 'amount', 0n)
      }
    },
    { needs: ['entries'] },
  ),
]

/** Creates a settlement of 12 with base 10 whose parts the case may change. */
function settlementOf({ holdId }: LedgerBench) {
  const facts = factsOf('alice')
  const postings = [
    { account: 'alice', amount: -12n },
    { account: 'platform', amount: 10n },
    { account: 'app', amount: 2n },
  ]
  return { facts, postings, request: { holdId: holdId('h'), charge: chargeOf(12n, 10n), postings, facts } }
}
