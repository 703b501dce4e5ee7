/**
 * Returns the rows of all pages, or the first `most`. A page may have fewer rows than its limit. Only an empty page is
 * the last.
 */
export async function readPages<Row>(
  read: (page: { readonly after?: string }) => Promise<readonly Row[]>,
  idOf: (row: Row) => string,
  most = Number.POSITIVE_INFINITY,
): Promise<readonly Row[]> {
  const all: Row[] = []
  for (;;) {
    const last = all.at(-1)
    const rows = await read(last === undefined ? {} : { after: idOf(last) })
    all.push(...rows)
    if (rows.length === 0 || all.length >= most) return all.slice(0, most)
  }
}
