/** SQL that joins a charge `e` with the posting `p` of its payer, a grant or a correction with its own. */
export const PAYER_POSTING = `left join {postings} p
        on p.account = e.account and p.at = e.at and p.entry_id = e.id`

/**
 * SQL for what a payer kept of its own charge: a posting is summed for each account, so that of a payer which is the
 * platform, the app's account or both lacks the base, the markup or both. Nothing else is accepted.
 */
export const KEPT = `case
  when p.amount is null or p.amount = -e.cost then 0
  when p.amount = -e.markup then e.base
  when p.amount = -e.base then e.markup
  when p.amount = 0 then e.cost
  else 0 end`

/** SQL that is true if a charge does not cost what its payer's posting took and what the payer kept. */
export const DEBITED_OTHERWISE = `(p.amount is null or p.amount <> ${KEPT} - e.cost)`

/** The same, or if its base and its markup are not its cost. */
export const UNEQUAL = `(${DEBITED_OTHERWISE} or e.base + e.markup <> e.cost)`
