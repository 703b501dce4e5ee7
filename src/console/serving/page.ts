/** A page of rows, and the cursor of the next one if more follow. */
export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly next?: string
}

/**
 * Reads at most `most` rows. Administration may return fewer than it is asked for, if they are large: then one more query
 * says whether others follow.
 */
export async function readPage<Row>(
  list: (page: { readonly limit: number; readonly after?: string }) => Promise<readonly Row[]>,
  most: number,
  after: string | undefined,
  idOf: (row: Row) => string,
): Promise<Page<Row>> {
  const found = await list({ limit: most + 1, ...(after === undefined ? {} : { after }) })
  const rows = found.slice(0, most)
  const last = rows.at(-1)
  if (last === undefined) return { rows }
  const next = idOf(last)
  const isMore = found.length > most || (await list({ limit: 1, after: next })).length > 0
  return { rows, ...(isMore ? { next } : {}) }
}
