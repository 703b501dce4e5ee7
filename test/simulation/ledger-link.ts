import type { Credits } from '../../src/base/money.js'
import type {
  HoldRequest,
  HoldResult,
  LedgerStore,
  ReleaseRequest,
  SettleRequest,
  SettleResult,
} from '../../src/contracts/ledger.js'
import type { SharedLedger } from './shared-ledger.js'
import type { SimProcess } from './sim-process.js'
import { turns } from './virtual-time.js'

/** The fate of one message to the ledger, and of its answer. */
interface Fate {
  /** When the ledger handles it: never, once, or twice, each after so many milliseconds. */
  readonly arrivesAfterMs: readonly number[]
  /** The result: the answer, an error, or nothing. An error need not wait for the ledger. */
  readonly reply: 'answer' | 'error' | 'silence'
  readonly replyAfterMs: number
  readonly throwsAtOnce: boolean
}

const LOST: Fate = { arrivesAfterMs: [], reply: 'error', replyAfterMs: 1, throwsAtOnce: false }
const PROMPT: Fate = { arrivesAfterMs: [0], reply: 'answer', replyAfterMs: 0, throwsAtOnce: false }

/** An amount that was rounded for the wire may not be exactly divisible by two. */
const MOST_A_RIVAL_HALVES = 10n ** 15n

/**
 * The connection of one process to the ledger, on which messages are lost, delayed, duplicated and reordered.
 */
export function createLedgerLink(process: SimProcess, ledger: SharedLedger): LedgerStore {
  const { world } = process
  const { faults } = world.scenario

  function fate(): Fate {
    const { random } = world
    if (world.isLedgerOut) return random.chance(0.8) ? LOST : { ...LOST, reply: 'silence' }
    if (!random.chance(faults.ledger)) {
      return random.chance(0.7) ? PROMPT : { ...PROMPT, replyAfterMs: random.int(0, 20) }
    }
    const delay = (): number =>
      random.weighted([
        [4, 0],
        [3, random.int(0, 55)],
        [2, random.int(60, 400)],
        [1, random.int(400, 6_000)],
      ])
    const arrivesAfterMs = Array.from(
      {
        length: random.weighted([
          [2, 0],
          [6, 1],
          [2, 2],
        ]),
      },
      delay,
    )
    const reply = random.weighted<Fate['reply']>([
      [arrivesAfterMs.length > 0 ? 5 : 0, 'answer'],
      [3, 'error'],
      [2, 'silence'],
    ])
    return {
      arrivesAfterMs,
      reply,
      replyAfterMs: random.int(0, 30),
      throwsAtOnce: arrivesAfterMs.length === 0 && random.chance(0.3),
    }
  }

  function send<Answer>(name: string, requestId: string, act: () => Promise<Answer>): Promise<Answer> {
    if (!process.alive) return never()
    process.step(requestId, name)
    const { arrivesAfterMs, reply, replyAfterMs, throwsAtOnce } = fate()
    world.note(() => `${process.name} ${name} ${requestId} ${JSON.stringify({ arrivesAfterMs, reply })}`)
    if (throwsAtOnce) throw new Error('The ledger cannot be reached')
    const arrivals = arrivesAfterMs.map((ms) => arrive(ms, act))
    for (const arrival of arrivals) arrival.catch((error) => refused(name, error))
    return process.hears(
      replyOf(
        arrivals[0],
        reply,
        (ms) => world.sleep(ms),
        replyAfterMs,
        () => process.step(requestId, `${name} answered`),
      ),
    )
  }

  /** A request may ask for more than any account can hold, and is refused. */
  function refused(name: string, error: unknown): void {
    if (name !== 'hold' || !(error instanceof RangeError)) world.violate(`ledger ${name}: ${String(error)}`)
  }

  async function arrive<Answer>(ms: number, act: () => Promise<Answer>): Promise<Answer> {
    if (ms > 0) await world.sleep(ms)
    else await turns(world.random.int(0, 3))
    return act()
  }

  return {
    hold: (request: HoldRequest): Promise<HoldResult> => {
      process.book.holds.push(request)
      // A store repeats its own message if the answer was lost, but not if it was refused.
      let refusal: HoldResult | undefined
      return send('hold', request.facts.requestId, async () => {
        const answer = refusal ?? (await ledger.hold(request))
        if (!answer.ok) refusal = answer
        return answer
      })
    },
    settle: (request: SettleRequest): Promise<SettleResult> => {
      const { book } = process
      book.settlements.push(request)
      if (!book.settlingAt.has(request.holdId)) book.settlingAt.set(request.holdId, world.time.now)
      const isSmall = request.charge.cost < MOST_A_RIVAL_HALVES
      const rival = isSmall && world.random.chance(faults.rivals) ? rivalOf(request) : undefined
      return send('settle', request.facts.requestId, async () => {
        if (rival !== undefined && !ledger.posted.has(request.holdId)) await ledger.settle(rival, true)
        const answer = await ledger.settle(request)
        book.settled.set(request.holdId, answer)
        return answer
      })
    },
    release: (request: ReleaseRequest) => {
      process.book.releases.push(request)
      return send('release', process.book.requestOf(request.holdId), () => ledger.release(request))
    },
    balance: (account) =>
      ledger.store.balance(account, { requestId: '', signal: new AbortController().signal }),
    expireHolds: (limit) => send('sweep', 'sweeper', () => ledger.expire(limit)),
  }
}

async function replyOf<Answer>(
  answer: Promise<Answer> | undefined,
  reply: Fate['reply'],
  sleep: (ms: number) => Promise<void>,
  ms: number,
  answered: () => void,
): Promise<Answer> {
  if (reply === 'silence') return never()
  if (reply === 'error') {
    if (ms > 0) await sleep(ms)
    answered()
    throw new Error('The connection to the ledger was lost')
  }
  const value = await answer!
  if (ms > 0) await sleep(ms)
  answered()
  return value
}

/** The same settlement with another amount. */
function rivalOf(request: SettleRequest): SettleRequest {
  const less = (amount: Credits): Credits => amount / 2n
  const base = less(request.charge.base)
  const markup = less(request.charge.markup)
  const cost = base + markup
  const [payer, platform, app] = request.postings
  const postings = [
    { account: payer!.account, amount: -cost },
    { account: platform!.account, amount: base },
  ]
  postings.push({ account: (app ?? platform)!.account, amount: markup })
  return { ...request, charge: { ...request.charge, cost, base, markup }, postings }
}

export function never<Value>(): Promise<Value> {
  return new Promise(() => {})
}
