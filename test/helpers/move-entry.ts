import type { DurableStores } from '../../src/sql/stores.js'

/** Gives the latest entry another time, as long as it is not among the totals. */
export async function moveLatestEntry(
  { database }: Pick<DurableStores, 'database'>,
  at: number,
): Promise<void> {
  for (const [table, condition] of [
    ['entries', 'id = (select max(id) from {entries})'],
    ['postings', 'entry_id = (select max(id) from {entries})'],
    ...(database.engine === 'postgres' ? [['unsummed', '(select max(id) from {entries}) = any (ids)']] : []),
  ]) {
    await database.all({
      text: `update {${table}} set at = ?1 where ${condition}`,
      parameters: [BigInt(at)],
    })
  }
}
