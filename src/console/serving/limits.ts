import type { Admin, LimitRow } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import type { LimitView } from '../protocol/index.js'

const PAGE_LIMITS = 1_000

/** Returns all limits of these credentials, accounts or apps. */
export async function limitsOf(
  admin: Admin,
  of: LimitRow['of'],
  ownerIds: readonly string[],
): Promise<readonly LimitView[]> {
  if (ownerIds.length === 0) return []
  const found: LimitView[] = []
  for (;;) {
    const after = found.at(-1)?.id
    const rows = await admin.listLimits({
      of,
      ownerIds,
      limit: PAGE_LIMITS,
      ...(after === undefined ? {} : { after }),
    })
    found.push(...rows.map(limitView))
    if (rows.length < PAGE_LIMITS) return found
  }
}

function limitView({ amount, used, held, left, ...row }: LimitRow): LimitView {
  const shown = (value: bigint): string => (row.unit === 'credits' ? formatCredits(value) : value.toString())
  return { ...row, amount: shown(amount), used: shown(used), held: shown(held), left: shown(left) }
}
