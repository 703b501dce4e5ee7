/** The most characters of lists that a page reads, unless its first row alone has more. */
const PAGE_CHARS = 1_048_576

/**
 * Returns SQL for the ids of a page, from a query for `id` and `size` in the order of ids. It ends the page before its
 * rows become too large, but never before the first row.
 */
export function cutPage(query: string, order: 'asc' | 'desc'): string {
  return `select id from (
    select id, sum(size) over (order by id ${order}) - size as before from (${query}) sized
  ) added where before < ${PAGE_CHARS}`
}
