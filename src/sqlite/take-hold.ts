import { HOLD_STATE } from '../sql/hold-states.js'
import type { HoldCommand, HoldOutcome } from '../sql/ledger-commands.js'
import type { Accounts } from './accounts.js'
import type { HoldRow, HoldRows } from './hold-rows.js'

const CLOSED: HoldOutcome = { kind: 'closed' }
const CONFLICT: HoldOutcome = { kind: 'conflict' }
const GRANTED: HoldOutcome = { kind: 'granted' }

/** Grants or refuses one hold. Tries the common case first, and runs all other checks only if it does not apply. */
export function takeHold(
  command: HoldCommand,
  holds: HoldRows,
  accounts: Accounts,
  now: bigint,
): HoldOutcome {
  const { account, amount, claim, replaces } = command
  if (claim === null && replaces === null) {
    const { posted, held } = accounts.read(account)
    const isCovered = amount === 0n || posted - held >= amount
    if (isCovered && holds.insertOpen(command, null, now)) {
      if (amount > 0n) accounts.change(account, 0n, amount)
      return GRANTED
    }
  }
  return takeWithCare(command, holds, accounts, now)
}

function takeWithCare(command: HoldCommand, holds: HoldRows, accounts: Accounts, now: bigint): HoldOutcome {
  const known = holds.read(command.holdId, now)
  if (known !== undefined) {
    if (known.isOver) return CLOSED
    return isSameHold(known, command) ? GRANTED : CONFLICT
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

  if (freed !== undefined) {
    holds.release(command.replaces!, now)
    accounts.change(freed.account, 0n, -freed.amount)
  }
  if (command.amount > 0n) accounts.change(command.account, 0n, command.amount)
  if (claim !== null) holds.giveClaim(claim, command.holdId)
  holds.insertOpen(command, claim, now)
  return GRANTED
}

/** A repeated swap may omit the claim that the hold took over from the one it replaced. */
function isSameHold(known: HoldRow, command: HoldCommand): boolean {
  const isSameClaim = known.claim === command.claim || (command.claim === null && command.replaces !== null)
  return (
    known.account === command.account &&
    known.amount === command.amount &&
    known.replaces === command.replaces &&
    isSameClaim
  )
}
