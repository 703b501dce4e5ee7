import { CompatError } from '../../base/errors.js'
import { type Credits, formatCredits } from '../../base/money.js'

function needs(amount: Credits): string {
  return `This request needs ${formatCredits(amount)} credits on hold`
}

/** The refusal of a hold larger than any account can cover. */
export function beyondEveryAccount(amount: Credits): CompatError {
  return new CompatError('insufficient_credits', `${needs(amount)}; no account can have that many.`)
}

/** The refusal of a hold that an account cannot cover: now, because of other holds, or at all. */
export function shortOfCredit(amount: Credits, posted: Credits, available: Credits): CompatError {
  if (amount <= posted) {
    return new CompatError(
      'credits_on_hold',
      `${needs(amount)}; ${formatCredits(available)} are free while other calls of this account are running. Try again shortly.`,
    )
  }
  return new CompatError(
    'insufficient_credits',
    `${needs(amount)}; this account has ${formatCredits(posted)}.`,
  )
}
