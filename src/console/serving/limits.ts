import type { Admin, LimitRow } from '../../admin/index.js'
import { present } from '../../base/present.js'

const PAGE_LIMITS = 1_000

/** Returns all limits of these credentials, accounts or apps. */
export async function limitsOf(
  admin: Admin,
  of: LimitRow['of'],
  ownerIds: readonly string[],
): Promise<readonly LimitRow[]> {
  if (ownerIds.length === 0) return []
  const found: LimitRow[] = []
  for (;;) {
    const after = found.at(-1)?.id
    const rows = await admin.limits.list(present({ of, ownerIds, limit: PAGE_LIMITS, after }))
    found.push(...rows)
    if (rows.length < PAGE_LIMITS) return found
  }
}
