import type { Clock } from '../../src/base/clock.js'
import type {
  Awaitable,
  Charge,
  HoldRequest,
  HoldResult,
  LedgerStore,
  ReleaseRequest,
  SettleRequest,
  SettleResult,
} from '../../src/contracts/index.js'
import { andThen } from '../../src/engine/asking/within.js'
import { nanos } from './decimals.js'
import { withSteps } from './with-steps.js'

/** The recorded actions of a ledger, and its mistakes. */
export interface LedgerAudit {
  /** Amounts of the open holds, by hold. */
  readonly openHolds: ReadonlyMap<string, bigint>
  /** The largest amount on hold at once, by account. */
  readonly mostHeld: ReadonlyMap<string, bigint>
  /** With the amounts of the steps that the ledger chose. */
  readonly holds: readonly { readonly request: HoldRequest; readonly result: HoldResult }[]
  /** The first settlement of each hold. */
  readonly settlements: ReadonlyMap<string, SettleRequest>
  readonly released: ReadonlySet<string>
  readonly posted: ReadonlyMap<string, bigint>
  /** The lowest balance of each account so far. */
  readonly lowest: ReadonlyMap<string, bigint>
  /** One sentence for each violation. */
  readonly problems: readonly string[]
}

interface OpenHold {
  readonly account: string
  readonly amount: bigint
  readonly deadline: number
}

/**
 * A ledger under observation. It keeps separate books and compares them with the ledger's. Exact for a ledger
 * that handles requests in order, as the one in memory does.
 */
export function auditedLedger<Ledger extends LedgerStore>(
  ledger: Ledger,
  clock: Clock,
  opening: Readonly<Record<string, string>> = {},
): { readonly ledger: Ledger; readonly audit: LedgerAudit } {
  const open = new Map<string, OpenHold>()
  const openHolds = new Map<string, bigint>()
  const mostHeld = new Map<string, bigint>()
  const holds: { request: HoldRequest; result: HoldResult }[] = []
  const settlements = new Map<string, SettleRequest>()
  const released = new Set<string>()
  const posted = new Map(Object.entries(opening).map(([account, amount]) => [account, nanos(amount)]))
  const lowest = new Map(posted)
  const problems: string[] = []
  const must = (holds: boolean, otherwise: string): void => {
    if (!holds) problems.push(otherwise)
  }

  function end(holdId: string): void {
    open.delete(holdId)
    openHolds.delete(holdId)
  }

  function heldBy(account: string): bigint {
    let held = 0n
    for (const [holdId, hold] of open) {
      if (hold.deadline <= clock.now()) end(holdId)
      else if (hold.account === account) held += hold.amount
    }
    return held
  }

  function sawHold(asked: HoldRequest, result: HoldResult): void {
    const request = withSteps(asked, result)
    holds.push({ request, result })
    const { account, amount, holdId, replaces } = request
    const replaced = replaces === undefined ? undefined : open.get(replaces)
    const freed = replaced?.account === account ? replaced.amount : 0n
    const balance = posted.get(account) ?? 0n
    const available = balance - heldBy(account) + freed
    const fits = amount === 0n || available >= amount
    if (!result.ok) {
      if (result.reason !== 'insufficient') return
      must(!fits, `hold ${holdId} of ${amount} was refused although ${available} were available`)
      must(result.posted === balance, `a refusal says ${result.posted} posted where ${balance} are`)
      must(result.available === available, `a refusal says ${result.available} where ${available} are`)
      return
    }
    must(amount >= 0n, `hold ${holdId} is of ${amount}`)
    must(fits, `hold ${holdId} of ${amount} was granted although ${available} were available`)
    must(!open.has(holdId), `hold ${holdId} was asked for twice`)
    must(!released.has(holdId), `hold ${holdId} was taken after its release`)
    if (replaces !== undefined) end(replaces)
    open.set(holdId, { account, amount, deadline: clock.now() + request.ttlMs })
    openHolds.set(holdId, amount)
    const held = heldBy(account)
    if (held > (mostHeld.get(account) ?? 0n)) mostHeld.set(account, held)
  }

  function sawSettlement(request: SettleRequest, result: SettleResult): void {
    const { charge, holdId, postings } = request
    const first = settlements.get(holdId)
    must(result.repeated === (first !== undefined), `settling ${holdId} says repeated: ${result.repeated}`)
    must(charge.base + charge.markup === charge.cost, `base and markup of ${holdId} are not its cost`)
    must(charge.cost >= 0n && charge.base >= 0n && charge.markup >= 0n, `an amount of ${holdId} is negative`)
    must(sum(postings.map(({ amount }) => amount)) === 0n, `the postings of ${holdId} do not add up to 0`)
    must(postings[0]?.amount === -charge.cost, `${holdId} does not debit its cost`)
    must(!released.has(holdId), `${holdId} was released and then settled`)
    if (first !== undefined) {
      must(sameCharge(first.charge, charge), `${holdId} was settled with two different charges`)
      return
    }
    settlements.set(holdId, request)
    end(holdId)
    for (const { account, amount } of postings) posted.set(account, (posted.get(account) ?? 0n) + amount)
    for (const { account } of postings) {
      const now = posted.get(account) ?? 0n
      if (now < (lowest.get(account) ?? 0n)) lowest.set(account, now)
    }
  }

  function sawRelease({ holdId }: ReleaseRequest): void {
    must(!settlements.has(holdId), `${holdId} was settled and then released`)
    released.add(holdId)
    end(holdId)
  }

  return {
    audit: {
      get openHolds() {
        heldBy('')
        return openHolds
      },
      ...{ mostHeld, holds, settlements, released, posted, lowest, problems },
    },
    ledger: {
      ...ledger,
      hold: (request, context) => seen(ledger.hold(request, context), (result) => sawHold(request, result)),
      settle: (request, context) =>
        seen(ledger.settle(request, context), (result) => sawSettlement(request, result)),
      release: (request, context) => seen(ledger.release(request, context), () => sawRelease(request)),
    },
  }
}

/** Returns the same answer, synchronously if the ledger does. */
function seen<Answer>(answer: Awaitable<Answer>, see: (answer: Answer) => void): Awaitable<Answer> {
  return andThen(answer, (value) => {
    see(value)
    return value
  })
}

/** Whether two charges are the same to the last digit. */
export function sameCharge(one: Charge, other: Charge): boolean {
  return chargeText(one) === chargeText(other)
}

/** A charge as text, its fields in a fixed order. */
export function chargeText(charge: Charge): string {
  const { base, basis, byok, cost, markup, priceVersion, shortfall, usage } = charge
  const { prompt, cached, cacheWrite, completion, reasoning } = usage
  const { audioInput = 0, audioOutput = 0, imageInput = 0, imageOutput = 0 } = usage
  const media = [audioInput, audioOutput, imageInput, imageOutput]
  const counts = [prompt, cached, cacheWrite, completion, reasoning, ...media]
  return [cost, base, markup, basis, byok, priceVersion ?? '', shortfall ?? '', ...counts].join(' ')
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}
