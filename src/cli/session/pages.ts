/** Returns the rows of all pages. Only an empty page is the last. */
export async function readPages<Row>(
  read: (page: { readonly after?: string }) => Promise<readonly Row[]>,
  idOf: (row: Row) => string,
): Promise<readonly Row[]> {
  const all: Row[] = []
  for (;;) {
    const last = all.at(-1)
    const rows = await read(last === undefined ? {} : { after: idOf(last) })
    if (rows.length === 0) return all
    all.push(...rows)
  }
}
