import type { SettleRequest } from '../../../src/stores.js'
import { createDeferred } from '../../helpers/deferred.js'
import type { LedgerFault } from '../../helpers/faulty-ledger.js'
import type { Bench, BenchCall } from '../bench.js'
import { type Fault, inBothModes, NOTHING, REPORTED } from '../fault.js'
import { DONE, FINISH, HEAD, TOKENS, USAGE } from '../upstream-scripts.js'

const CONTEXT = { requestId: 'test', signal: new AbortController().signal }
const UNAVAILABLE = { status: 503, code: 'ledger_unavailable' }
const KEYED = { 'idempotency-key': 'key-1' }
const WHOLE_REPLY = [HEAD, TOKENS, FINISH, USAGE, DONE, 'end'] as const

/** No hold: no provider is called, and a possible hold is released. */
export const holdFaults: readonly Fault[] = [
  ...atHold('the ledger throws at the hold', 'throws'),
  ...atHold('the ledger takes the hold, and its answer is lost', 'answer-lost'),
  ...atHold('the ledger never answers the hold', 'hangs', 5_000),
  ...atHold('the ledger takes the hold, and never answers', 'hangs-after', 5_000),
  ...atHold('the ledger takes the hold after its release', { afterMs: 8_000 }, 10_000),
  ...inBothModes((stream) => ({
    row: 'reported',
    name: 'the ledger is slow at the hold',
    async play(bench) {
      bench.plan.next('hold', { afterMs: 4_000 })
      bench.upstream.script(WHOLE_REPLY)
      const call = bench.call(stream)
      await bench.plan.asked('hold')
      await bench.clock.elapse(4_000)
      await call.client.over
      return call
    },
    due: REPORTED,
    answer: 'whole',
  })),
  ...inBothModes((stream) => ({
    row: 'ledger-hold',
    name: 'the ledger throws at the hold and at its release, twice',
    async play(bench) {
      bench.plan.next('hold', 'answer-lost').next('release', 'throws', 'throws')
      const call = bench.call(stream)
      await call.client.over
      await bench.clock.elapse(300)
      return call
    },
    due: NOTHING,
    answer: UNAVAILABLE,
    also: (bench) => expectCount(bench, 'release', 3),
  })),
]

/** Whatever happens at the settlement, the charge is posted once. */
export const settleFaults: readonly Fault[] = [
  ...atSettle('the ledger is slow at the settlement', [{ afterMs: 1_000 }], 1_000),
  ...atSettle('the ledger throws at the settlement, twice', ['throws', 'throws'], 300),
  ...atSettle('the settlement is posted, and its answer is lost', ['answer-lost'], 100),
  ...atSettle('the settlement is posted, and never answered', ['hangs-after'], 6_000),
  ...atSettle('the ledger never answers the settlement, which is then retried', ['hangs'], 6_000),
  ...atSettle(
    'the settlement is delayed until after its retry, and posted once',
    [{ afterMs: 7_000 }],
    8_000,
  ),
  ...atSettle(
    'the ledger answers every settlement after the timeout of a try',
    Array(10).fill({ afterMs: 7_000 }),
    70_000,
  ),
  ...atAnswer('the charge has no usage', withCharge({ usage: undefined })),
  ...atAnswer('a count of the usage is missing', withCharge({ usage: { prompt: 11, completion: 7 } })),
  ...atAnswer('the cost is a number', withCharge({ cost: 0.002 })),
  ...atAnswer('the cost is below zero', withCharge({ cost: -2_000_000n })),
  ...atAnswer('the charge has no basis', withCharge({ basis: null })),
  ...atAnswer('the charge does not state whose key was used', withCharge({ byok: 0 })),
  ...atAnswer('the overdraft is missing', ({ overdraft: _, ...settled }) => settled),
  ...atAnswer('the answer is undefined', () => undefined, 100),
  ...atAnswer('the answer is null', () => null, 100),
  ...atAnswer('the answer has no charge', ({ charge: _, ...settled }) => settled, 100),
  ...inBothModes((stream) => ({
    row: 'ledger-settle',
    name: 'the ledger never returns the posted charge; the event reconciles',
    async play(bench) {
      bench.plan.always('settle', { answers: () => undefined })
      const call = await callToSettle(bench, stream)
      await bench.clock.elapse(60_000)
      await call.client.over
      const { error, request } = await bench.event('charge-failed', call)
      if (!error.message.includes('broke its contract')) throw new Error(error.message)
      bench.plan.heal()
      if (!(await bench.faulty.settle(request, CONTEXT)).repeated) throw new Error('charged twice')
      return call
    },
    due: REPORTED,
    answer: 'whole',
  })),
  ...inBothModes((stream) => ({
    row: 'ledger-settle',
    name: 'the settlement of a call with an `Idempotency-Key` is answered without usage: its repeat gets the same reply',
    async play(bench) {
      bench.plan.next('settle', { answers: withCharge({ usage: undefined }) })
      bench.upstream.script(WHOLE_REPLY)
      const call = bench.call(stream, {}, KEYED)
      await call.client.over
      await bench.event('request-end', call)
      const repeat = bench.call(stream, {}, KEYED)
      await repeat.client.over
      await bench.event('request-end', repeat)
      if (repeat.client.text !== call.client.text) throw new Error(repeat.client.text)
      return call
    },
    due: REPORTED,
    answer: 'whole',
  })),
  ...inBothModes((stream) => ({
    row: 'ledger-settle',
    name: 'the reply is sent before the ledger has answered',
    async play(bench) {
      bench.plan.next('settle', 'hangs')
      const call = await callToSettle(bench, stream)
      await bench.clock.elapse(2_000)
      await call.client.over
      if (bench.audit.settlements.size > 0) throw new Error('settled already')
      await bench.clock.elapse(4_000)
      return call
    },
    due: REPORTED,
    answer: 'whole',
  })),
  ...untilGivenUp('the ledger cannot be reached', 'throws', 60_000),
  ...untilGivenUp('the ledger hangs', 'hangs', 70_000),
  ...inBothModes((stream) => ({
    row: 'ledger-settle',
    name: 'the ledger has another charge for the hold: the client gets that one',
    async play(bench) {
      const gate = createDeferred()
      bench.plan.next('settle', { when: gate.promise })
      const call = await callToSettle(bench, stream)
      await settleElsewhere(bench, call)
      gate.resolve()
      await call.client.over
      return call
    },
    due: '0.0009',
    answer: 'whole',
    // This settlement bypassed the auditor, which therefore reports the repeat.
    left: { problems: 1 },
  })),
  ...inBothModes((stream) => ({
    row: 'reported',
    name: 'the claim was lost to another hold while the call ran',
    async play(bench) {
      const gate = createDeferred()
      bench.plan.next('settle', { when: gate.promise })
      const call = await callToSettle(bench, stream, KEYED)
      await expireAndClaim(bench)
      gate.resolve()
      await call.client.over
      return call
    },
    due: REPORTED,
    answer: 'whole',
    also: async (bench, call) => void (await bench.event('claim-lost', call)),
  })),
  ...inBothModes((stream) => ({
    row: 'reported',
    name: 'the claim was lost, which the ledger reports after the reply is sent',
    async play(bench) {
      bench.plan.next('settle', { afterMs: 3_000 })
      const call = await callToSettle(bench, stream, KEYED)
      await expireAndClaim(bench)
      await bench.clock.elapse(3_000)
      await call.client.over
      return call
    },
    due: REPORTED,
    answer: 'whole',
    also: async (bench, call) => void (await bench.event('claim-lost', call)),
  })),
]

/** Nothing is due, and the hold cannot be released at once. */
export const releaseFaults: readonly Fault[] = [
  ...atRelease('the ledger throws at the release, twice', ['throws', 'throws'], 300),
  ...atRelease('the ledger releases, and its answer is lost', ['answer-lost'], 100),
  ...atRelease('the ledger never answers the release, which is then retried', ['hangs'], 6_000),
  ...inBothModes((stream) => ({
    row: 'http-error',
    name: 'the hold can never be released, and expires',
    async play(bench) {
      bench.plan.always('release', 'throws')
      bench.upstream.script(['reset'])
      const call = bench.call(stream)
      await bench.plan.asked('release')
      await bench.clock.elapse(60_000)
      await call.client.over
      await bench.event('store-fault', call)
      const [held] = [...bench.audit.openHolds.keys()]
      await bench.clock.elapse(1_100_000)
      const { hold } = await bench.event('hold-expired')
      if (hold.holdId !== held) throw new Error('another hold expired')
      return call
    },
    due: NOTHING,
    answer: { status: 502, code: 'provider_error' },
  })),
]

function atHold(name: string, fault: LedgerFault, elapseMs = 0): Fault[] {
  return inBothModes((stream) => ({
    row: 'ledger-hold',
    name,
    async play(bench) {
      bench.plan.next('hold', fault)
      const call = bench.call(stream)
      await bench.plan.asked('hold')
      await bench.clock.elapse(elapseMs)
      await call.client.over
      return call
    },
    due: NOTHING,
    answer: UNAVAILABLE,
    also(bench) {
      if (bench.upstream.requests.length > 0) throw new Error('called without a hold')
      expectCount(bench, 'release', 1)
      if (!bench.has('store-fault')) throw new Error('no store-fault')
    },
  }))
}

/** A call with a complete reply, whose settlement has been requested. */
async function callToSettle(
  bench: Bench,
  stream: boolean,
  headers: Readonly<Record<string, string>> = {},
): Promise<BenchCall> {
  bench.upstream.script(WHOLE_REPLY)
  const call = bench.call(stream, {}, headers)
  await bench.plan.asked('settle')
  return call
}

function untilGivenUp(name: string, fault: LedgerFault, elapseMs: number): Fault[] {
  return inBothModes((stream) => ({
    row: 'ledger-settle',
    name: `${name} until the settlement is abandoned; the event reconciles`,
    async play(bench) {
      bench.plan.always('settle', fault)
      const call = await callToSettle(bench, stream)
      await bench.clock.elapse(elapseMs)
      await call.client.over
      const { request } = await bench.event('charge-failed', call)
      bench.plan.heal()
      await reconcileTwice(bench, request)
      return call
    },
    due: REPORTED,
    answer: 'whole',
  }))
}

/** A complete reply whose settlement has this fault, and the events within some time after its request. */
async function playSettlement(
  bench: Bench,
  stream: boolean,
  faults: readonly LedgerFault[],
  elapseMs: number,
): Promise<BenchCall> {
  bench.plan.next('settle', ...faults)
  const call = await callToSettle(bench, stream)
  await bench.clock.elapse(elapseMs)
  await call.client.over
  return call
}

function atSettle(name: string, faults: readonly LedgerFault[], elapseMs: number): Fault[] {
  return inBothModes((stream) => ({
    row: 'ledger-settle',
    name,
    play: (bench) => playSettlement(bench, stream, faults, elapseMs),
    due: REPORTED,
    answer: 'whole',
    also(bench) {
      if (bench.has('charge-failed')) throw new Error('charge-failed although it was posted')
      expectCount(bench, 'release', 0)
    },
  }))
}

type Settled = Awaited<ReturnType<Bench['ledger']['settle']>>

/** The settlement is posted, and its answer breaks the contract. */
function atAnswer(name: string, answers: (settled: Settled) => unknown, elapseMs = 0): Fault[] {
  return inBothModes((stream) => ({
    row: 'ledger-settle',
    name: `the settlement is posted, and ${name}`,
    play: (bench) => playSettlement(bench, stream, [{ answers }], elapseMs),
    due: REPORTED,
    answer: 'whole',
    async also(bench, call) {
      const { error, store } = await bench.event('store-fault', call)
      if (store !== 'ledger' || !error.message.includes('broke its contract: settle() must return'))
        throw new Error(`${store}: ${error.message}`)
      if (bench.has('charge-failed')) throw new Error('charge-failed although it was posted')
      expectCount(bench, 'settle', elapseMs === 0 ? 1 : 2)
    },
  }))
}

function withCharge(changes: object): (settled: Settled) => unknown {
  return ({ charge, ...settled }) => ({ ...settled, charge: { ...charge, ...changes } })
}

function atRelease(name: string, faults: readonly LedgerFault[], elapseMs: number): Fault[] {
  return inBothModes((stream) => ({
    row: 'http-error',
    name,
    async play(bench) {
      bench.plan.next('release', ...faults)
      bench.upstream.script(['reset'])
      const call = bench.call(stream)
      await bench.plan.asked('release')
      await bench.clock.elapse(elapseMs)
      await call.client.over
      return call
    },
    due: NOTHING,
    answer: { status: 502, code: 'provider_error' },
    also: (bench) => expectCount(bench, 'settle', 0),
  }))
}

function expectCount(bench: Bench, operation: 'hold' | 'settle' | 'release', times: number): void {
  const count = bench.plan.count(operation)
  if (count !== times) throw new Error(`${operation} was called ${count} times, not ${times}`)
}

async function reconcileTwice(bench: Bench, request: SettleRequest): Promise<void> {
  const first = await bench.faulty.settle(request, CONTEXT)
  const second = await bench.faulty.settle(request, CONTEXT)
  if (first.repeated || !second.repeated) throw new Error('the reconciliation charged twice, or not at all')
}

/** Somebody reconciles the hold with another charge. */
async function settleElsewhere(bench: Bench, call: BenchCall): Promise<void> {
  const { facts, holdId } = bench.audit.holds[0]!.request
  const usage = { prompt: 1, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 }
  const charge = {
    cost: 900_000n,
    base: 700_000n,
    markup: 200_000n,
    basis: 'estimated',
    byok: false,
    usage,
  } as const
  const postings = [
    { account: facts.account, amount: -charge.cost },
    { account: 'platform', amount: charge.base },
    { account: 'app', amount: charge.markup },
  ]
  await bench.ledger.settle({ holdId, charge, postings, facts: { ...facts, requestId: call.id } }, CONTEXT)
}

/** The hold has expired, and another call with the same claim gets it. */
async function expireAndClaim(bench: Bench): Promise<void> {
  const { request } = bench.audit.holds[0]!
  await bench.ledger.release({ holdId: request.holdId, account: request.account }, CONTEXT)
  const { claim, facts } = request
  const other = { holdId: 'other', account: 'bob', amount: 0n, ttlMs: 60_000, facts, ...(claim && { claim }) }
  const taken = await bench.ledger.hold(other, CONTEXT)
  if (!taken.ok) throw new Error('the claim was not free')
}
