import type { LimitUse } from '../contracts/index.js'
import {
  areInPresent,
  isSameLimits,
  limitStates,
  takeLimits,
  testLimits,
} from '../contracts/limit-buckets.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import type { HoldCommand, HoldOutcome } from '../sql/ledger-commands.js'
import type { Accounts } from './accounts.js'
import type { Buckets } from './buckets.js'
import type { HoldRow, HoldRows } from './hold-rows.js'

const CLOSED: HoldOutcome = { kind: 'closed' }
const CONFLICT: HoldOutcome = { kind: 'conflict' }
const GRANTED: HoldOutcome = { kind: 'granted' }

/** Grants or refuses one hold. Tries the common case first, and runs all other checks only if it does not apply. */
export function takeHold(
  command: HoldCommand,
  holds: HoldRows,
  accounts: Accounts,
  buckets: Buckets,
  now: bigint,
  process: string | null,
): HoldOutcome {
  const { account, amount, claim, limits, replaces } = command
  if (claim === null && replaces === null && areInPresent(limits, Number(now))) {
    const { posted, held } = accounts.read(account)
    const isCovered = amount === 0n || posted - held >= amount
    const tested = testLimits(buckets, limits, NO_LIMITS, Number(now), () => 0n)
    if (isCovered && tested.ok) {
      const parts = tested.grants.map(({ part }) => part)
      if (holds.insertOpen(command, null, parts, now, process)) {
        if (amount > 0n) accounts.change(account, 0n, amount)
        takeLimits(buckets, tested.grants, NO_LIMITS)
        return granted(command, buckets, parts, now)
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
    return isSameHold(known, command) ? granted(command, buckets, known.limits, now) : CONFLICT
  }

  const replaced = command.replaces === null ? undefined : holds.read(command.replaces, now)
  if (replaced?.state === HOLD_STATE.settled) return CLOSED
  const freed = replaced === undefined || replaced.isOver ? undefined : replaced
  const claim = command.claim ?? freed?.claim ?? null
  const holder = claim === null ? undefined : holds.claimHolder(claim, command.replaces, now)
  if (holder !== undefined) return { kind: 'claimed', entryId: holder.entryId }

  const { posted, held } = accounts.read(command.account)
  let available = posted - held + (freed?.account === command.account ? freed.amount : 0n)
  if (command.amount > 0n && available < command.amount) {
    // Overdue holds count as held until they are swept.
    available += holds.overdue(command.account, now)
    if (available < command.amount) return { kind: 'insufficient', posted, available }
  }

  const own = freed?.limits ?? NO_LIMITS
  const tested = testLimits(buckets, command.limits, own, Number(now), (bucket, startsAt) =>
    holds.overdueLimit(bucket, startsAt, now),
  )
  if (!tested.ok) {
    const { bucket, left, resetMs, onlyHeld } = tested
    return { kind: 'limited', bucket, left, resetMs, onlyHeld }
  }

  if (freed !== undefined) {
    holds.releaseReplaced(command.replaces!, now)
    accounts.change(freed.account, 0n, -freed.amount)
  }
  const parts = tested.grants.map(({ part }) => part)
  takeLimits(buckets, tested.grants, own)
  if (command.amount > 0n) accounts.change(command.account, 0n, command.amount)
  if (claim !== null) holds.giveClaim(claim, command.holdId)
  holds.insertOpen(command, claim, parts, now, process)
  return granted(command, buckets, parts, now)
}

const NO_LIMITS: readonly LimitUse[] = []

function granted(
  { limits }: HoldCommand,
  buckets: Buckets,
  parts: readonly LimitUse[],
  now: bigint,
): HoldOutcome {
  if (limits.length === 0) return GRANTED
  return { kind: 'granted', limits: limitStates(buckets, limits, parts, Number(now)) }
}

/** A repeated swap may omit the claim that the hold took over from the one it replaced. */
function isSameHold(known: HoldRow, command: HoldCommand): boolean {
  const isSameClaim = known.claim === command.claim || (command.claim === null && command.replaces !== null)
  return (
    known.account === command.account &&
    known.amount === command.amount &&
    known.replaces === command.replaces &&
    isSameLimits(command.limits, known.limits) &&
    isSameClaim
  )
}
