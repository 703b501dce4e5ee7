/** SQL that joins a charge `e` with the posting `p` of its payer, or a credit or correction with its own posting. */
export const PAYER_POSTING = `left join {postings} p
        on p.account = e.account and p.at = e.at and p.entry_id = e.id`

/**
 * SQL for the part of a charge `e` that the payer earned itself. Each account has one posting, a sum. If the payer is also
 * the platform, the app's account or both, its posting lacks the base, the markup or both. Any other amount counts as
 * 0.
 *
 * @param posted SQL for the payer's posting
 */
export function keptOf(posted: string): string {
  return `case
  when ${posted} is null or ${posted} = -e.cost then 0
  when ${posted} = -e.markup then e.base
  when ${posted} = -e.base then e.markup
  when ${posted} = 0 then e.cost
  else 0 end`
}

/** SQL that is true if the cost of a charge is not the sum of the amounts that its payer was debited and kept. */
export function isDebitedOtherwise(posted: string): string {
  return `(${posted} is null or ${posted} <> ${keptOf(posted)} - e.cost)`
}

/** SQL that is true if {@link isDebitedOtherwise} is, or if base and markup do not add up to the cost. */
export function isUnequal(posted: string): string {
  return `(${isDebitedOtherwise(posted)} or e.base + e.markup <> e.cost)`
}
