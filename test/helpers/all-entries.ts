import type { Admin } from '../../src/admin/index.js'
import type { Entry } from '../../src/contracts/index.js'

/** Every entry, read in pages. */
export async function allEntries(admin: Admin): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  let after: string | undefined
  do {
    const page = await admin.entries.list({ limit: 100, ...(after !== undefined && { after }) })
    entries.push(...page.entries)
    after = page.next
  } while (after !== undefined)
  return entries
}
