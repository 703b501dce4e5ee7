/** SQL that joins a charge `e` with the posting `p` of its payer, or a credit or correction with its own posting. */
export const PAYER_POSTING = `left join {postings} p
        on p.account = e.account and p.at = e.at and p.entry_id = e.id`

/**
 * SQL for the part of a charge that the payer earned itself. Each account has one posting, a sum. If the payer is also
 * the platform, the app's account or both, its posting lacks the base, the markup or both. Any other amount counts as
 * 0.
 */
export const KEPT = `case
  when p.amount is null or p.amount = -e.cost then 0
  when p.amount = -e.markup then e.base
  when p.amount = -e.base then e.markup
  when p.amount = 0 then e.cost
  else 0 end`

/** SQL that is true if the cost of a charge is not the sum of the amounts that its payer was debited and kept. */
export const DEBITED_OTHERWISE = `(p.amount is null or p.amount <> ${KEPT} - e.cost)`

/** SQL that is true if {@link DEBITED_OTHERWISE} is, or if base and markup do not add up to the cost. */
export const UNEQUAL = `(${DEBITED_OTHERWISE} or e.base + e.markup <> e.cost)`
