import type { HoldLimit, HoldLimited, LimitUse } from '../contracts/index.js'
import { chooseSteps, withSteps } from '../rules/hold-steps.js'
import { areInPresent, isSameLimits, limitStates, takeLimits, testLimits } from '../rules/limit-buckets.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import type { HoldCommand, HoldOutcome } from '../sql/ledger-commands.js'
import type { Accounts } from './accounts.js'
import type { Buckets } from './buckets.js'
import type { HoldRow, HoldRows } from './hold-rows.js'

/** An outcome that tells the number of steps. */
type SteppedOutcome = Extract<HoldOutcome, { kind: 'granted' | 'insufficient' | 'limited' }>

const CLOSED: HoldOutcome = { kind: 'closed' }
const CONFLICT: HoldOutcome = { kind: 'conflict' }
const GRANTED: SteppedOutcome = { kind: 'granted' }

/** Grants or refuses one hold. Tries the common case first, and runs all other checks only if it does not apply. */
export function takeHold(
  command: HoldCommand,
  holds: HoldRows,
  accounts: Accounts,
  buckets: Buckets,
  now: bigint,
  process: string | null,
): HoldOutcome {
  const { account, claim, limits: asked, replaces } = command
  if (claim === null && replaces === null && areInPresent(asked, Number(now))) {
    const { posted, held } = accounts.read(account)
    const { amount, limits, steps } = stepped(command, posted - held, buckets, NO_LIMITS, now)
    const isCovered = amount === 0n || posted - held >= amount
    const tested = testLimits(buckets, limits, NO_LIMITS, Number(now), () => 0n)
    if (isCovered && tested.ok) {
      const parts = tested.grants.map(({ part }) => part)
      if (holds.insertOpen(command, { amount, claim: null, limits: parts, steps }, now, process)) {
        if (amount > 0n) accounts.change(account, 0n, amount)
        takeLimits(buckets, tested.grants, NO_LIMITS)
        return granted(command, buckets, parts, steps, now)
      }
    }
  }
  return takeWithCare(command, holds, accounts, buckets, now, process)
}

function takeWithCare(
  command: HoldCommand,
  holds: HoldRows,
  accounts: Accounts,
  buckets: Buckets,
  now: bigint,
  process: string | null,
): HoldOutcome {
  const known = holds.read(command.holdId, now)
  if (known !== undefined) {
    if (known.isOver) return CLOSED
    return isSameHold(known, command) ? granted(command, buckets, known.limits, known.steps, now) : CONFLICT
  }

  const replaced = command.replaces === null ? undefined : holds.read(command.replaces, now)
  if (replaced?.state === HOLD_STATE.settled) return CLOSED
  const freed = replaced === undefined || replaced.isOver ? undefined : replaced
  const claim = command.claim ?? freed?.claim ?? null
  const holder = claim === null ? undefined : holds.claimHolder(claim, command.replaces, now)
  if (holder !== undefined) return { kind: 'claimed', entryId: holder.entryId }

  const own = freed?.limits ?? NO_LIMITS
  const { posted, held } = accounts.read(command.account)
  let available = posted - held + (freed?.account === command.account ? freed.amount : 0n)
  const { amount, limits, steps } = stepped(command, available, buckets, own, now)
  const test = (some: readonly HoldLimit[]) =>
    testLimits(buckets, some, own, Number(now), (bucket, startsAt) =>
      holds.overdueLimit(bucket, startsAt, now),
    )
  const before = test(limits.slice(0, command.beforeBalance))
  if (!before.ok) return limited(before, steps)

  if (amount > 0n && available < amount) {
    // Overdue holds count as held until they are swept.
    available += holds.overdue(command.account, now)
    if (available < amount) return withCount({ kind: 'insufficient', posted, available }, steps)
  }

  const after = test(limits.slice(command.beforeBalance))
  if (!after.ok) return limited(after, steps)

  if (freed !== undefined) {
    holds.releaseReplaced(command.replaces!, now)
    accounts.change(freed.account, 0n, -freed.amount)
  }
  const grants = [...before.grants, ...after.grants]
  const parts = grants.map(({ part }) => part)
  takeLimits(buckets, grants, own)
  if (amount > 0n) accounts.change(command.account, 0n, amount)
  if (claim !== null) holds.giveClaim(claim, command.holdId)
  holds.insertOpen(command, { amount, claim, limits: parts, steps }, now, process)
  return granted(command, buckets, parts, steps, now)
}

/** Returns the amounts of a hold with the steps that are taken. */
function stepped(
  { amount, limits, steps }: HoldCommand,
  available: bigint,
  buckets: Buckets,
  own: readonly LimitUse[],
  now: bigint,
): Pick<HoldRow, 'amount' | 'steps'> & { readonly limits: readonly HoldLimit[] } {
  if (steps === null) return { amount, limits, steps }
  const chosen = chooseSteps({ amount, limits, steps }, available, buckets, own, Number(now))
  return { amount: amount + steps.amount * BigInt(chosen), limits: withSteps(limits, chosen), steps: chosen }
}

function limited({ bucket, left, resetMs, onlyHeld }: HoldLimited, steps: number | null): HoldOutcome {
  return withCount({ kind: 'limited', bucket, left, resetMs, onlyHeld }, steps)
}

function withCount(outcome: SteppedOutcome, steps: number | null): HoldOutcome {
  return steps === null ? outcome : { ...outcome, steps }
}

const NO_LIMITS: readonly LimitUse[] = []

function granted(
  { limits }: HoldCommand,
  buckets: Buckets,
  parts: readonly LimitUse[],
  steps: number | null,
  now: bigint,
): HoldOutcome {
  if (limits.length === 0) return withCount(GRANTED, steps)
  return withCount({ kind: 'granted', limits: limitStates(buckets, limits, parts, Number(now)) }, steps)
}

/** A repeated swap may omit the claim that the hold took over from the one it replaced. */
function isSameHold(known: HoldRow, command: HoldCommand): boolean {
  const isSameClaim = known.claim === command.claim || (command.claim === null && command.replaces !== null)
  const { amount, limits, steps } = command
  const taken = known.steps ?? 0
  return (
    known.account === command.account &&
    (known.steps === null) === (steps === null) &&
    known.amount === amount + (steps?.amount ?? 0n) * BigInt(taken) &&
    known.replaces === command.replaces &&
    isSameLimits(withSteps(limits, taken), known.limits) &&
    isSameClaim
  )
}
