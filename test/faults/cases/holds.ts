import { decimal } from '../../helpers/decimals.js'
import type { LedgerFault } from '../../helpers/faulty-ledger.js'
import type { BenchOptions } from '../bench.js'
import { type Fault, inBothModes, NOTHING, REPORTED, scripted } from '../fault.js'
import { body, COUNTS, DONE, FINISH, HEAD, TOKENS, USAGE, wholeBody } from '../upstream-scripts.js'
import { HOLD } from './overdraw.js'

const WHOLE_REPLY = [HEAD, TOKENS, FINISH, USAGE, DONE, 'end'] as const
/** Twice as expensive. Its hold: (0.002 + 22 x 0.00002 + 100 x 0.00004) x 1.2 + 0.0005. */
const DEARER: BenchOptions = {
  routes: [{}, { prices: { input: '20', output: '40', request: '0.002' } }],
}
const DEARER_HOLD = '0.008228'
/** (0.002 + 11 x 0.00002 + 7 x 0.00004) x 1.2 + 0.0005 */
const DEARER_REPORTED = '0.0035'
const BROKEN = { status: 502, code: 'provider_error' }

/**
 * A more expensive route after a failed first one: the hold is replaced in one step before the route is
 * called.
 */
export const swaps: readonly Fault[] = [
  ...scripted({
    row: 'reported',
    name: 'a more expensive route takes over: its hold replaces the first',
    options: DEARER,
    scripts: { stream: [['reset'], WHOLE_REPLY], json: [['reset'], wholeBody(body({ usage: COUNTS }))] },
    due: DEARER_REPORTED,
    answer: 'whole',
    also(bench) {
      const amounts = bench.audit.holds.map(({ request }) => decimal(request.amount))
      const [first, second] = bench.audit.holds
      if (amounts.join() !== `${HOLD},${DEARER_HOLD}`) throw new Error(`holds: ${amounts}`)
      if (second!.request.replaces !== first!.request.holdId) throw new Error('the hold was not replaced')
      if (decimal(bench.audit.mostHeld.get('alice')!) !== DEARER_HOLD) throw new Error('two holds at once')
    },
  }),
  ...scripted({
    row: 'http-error',
    name: 'there is not enough credit for a more expensive route: it is skipped',
    options: { ...DEARER, accounts: { alice: '0.005' } },
    scripts: { stream: [['reset'], WHOLE_REPLY], json: [['reset'], WHOLE_REPLY] },
    due: NOTHING,
    answer: BROKEN,
    also(bench) {
      if (bench.upstreams[1]!.requests.length > 0) throw new Error('called without a hold')
    },
  }),
  ...scripted({
    row: 'reported',
    name: 'there is not enough credit for a more expensive route, but enough for the next one',
    options: {
      // The caller sets the order of the routes.
      routes: [{}, DEARER.routes![1]!, {}],
      accounts: { alice: '0.005' },
    },
    body: { routing: { order: ['p0', 'p1', 'p2'] } },
    scripts: {
      stream: [['reset'], WHOLE_REPLY, WHOLE_REPLY],
      json: [['reset'], WHOLE_REPLY, wholeBody(body({ usage: COUNTS }))],
    },
    due: REPORTED,
    answer: 'whole',
    also(bench) {
      if (bench.upstreams[1]!.requests.length > 0) throw new Error('called without a hold')
    },
  }),
  ...scripted({
    row: 'http-error',
    name: 'there is not enough credit for any route',
    options: { ...DEARER, accounts: { alice: '0.004' } },
    scripts: { stream: [WHOLE_REPLY, WHOLE_REPLY], json: [WHOLE_REPLY, WHOLE_REPLY] },
    due: NOTHING,
    answer: { status: 402, code: 'insufficient_credits' },
    also(bench) {
      if (bench.upstreams.some(({ requests }) => requests.length > 0))
        throw new Error('called without a hold')
    },
  }),
  ...atSwap('the ledger throws at the swap', 'throws'),
  ...atSwap('the ledger swaps, and its answer is lost', 'answer-lost'),
  ...atSwap('the ledger never answers the swap', 'hangs', 5_000),
  ...atSwap('the ledger swaps, and never answers', 'hangs-after', 5_000),
  ...atSwap('the ledger swaps after the release', { afterMs: 8_000 }, 10_000),
]

function atSwap(name: string, fault: LedgerFault, elapseMs = 0): Fault[] {
  return inBothModes((stream) => ({
    row: 'ledger-hold',
    name,
    options: DEARER,
    async play(bench) {
      bench.plan.next('hold', undefined, fault)
      bench.upstream.script(['reset'])
      const call = bench.call(stream)
      await bench.plan.asked('hold', 2)
      await bench.clock.elapse(elapseMs)
      await call.client.over
      return call
    },
    due: NOTHING,
    answer: { status: 503, code: 'ledger_unavailable' },
    also(bench) {
      if (bench.upstreams[1]!.requests.length > 0) throw new Error('called without a hold')
      if (bench.plan.count('release') !== 2) throw new Error('not both holds were released')
    },
  }))
}
