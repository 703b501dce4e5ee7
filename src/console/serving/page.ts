/** A page of rows, and the cursor of the next one if more follow. */
export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly next?: string
}

/**
 * Reads at most `most` rows. The admin functions may return fewer than requested if rows are large. One more query then
 * checks whether others follow.
 */
export async function readPage<Row>(
  list: (page: { readonly limit: number; readonly after?: string }) => Promise<readonly Row[]>,
  most: number,
  after: string | undefined,
  idOf: (row: Row) => string,
): Promise<Page<Row>> {
  const found = await list({ limit: most + 1, ...(after !== undefined && { after }) })
  const rows = found.slice(0, most)
  const last = rows.at(-1)
  if (last === undefined) return { rows }
  const next = idOf(last)
  const isMore = found.length > most || (await list({ limit: 1, after: next })).length > 0
  return { rows, ...(isMore && { next }) }
}

/** A reply reads at most this many pages of a search. Its cursor then continues the search. */
const PAGES_SEARCHED = 10
const ROWS_SEARCHED = 1_000

/** Reads further pages until `most` rows are found or no more follow. */
export async function searchPage<Row>(
  list: (page: { readonly limit: number; readonly after?: string }) => Promise<readonly Row[]>,
  isFound: (row: Row) => boolean,
  most: number,
  after: string | undefined,
  idOf: (row: Row) => string,
): Promise<Page<Row>> {
  const found: Row[] = []
  let last = after
  for (let pages = 0; pages < PAGES_SEARCHED; pages++) {
    const rows = await list({ limit: ROWS_SEARCHED, ...(last !== undefined && { after: last }) })
    if (rows.length === 0) return { rows: found }
    for (const row of rows) {
      if (isFound(row)) {
        if (found.length === most) return { rows: found, next: last! }
        found.push(row)
      }
      last = idOf(row)
    }
  }
  return { rows: found, next: last! }
}
