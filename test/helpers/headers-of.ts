import type { RequestHeaders } from '../../src/protocol/request-headers.js'

/** Headers by their names in lower case, as the router reads those of a request. */
export const headersOf = (headers: Readonly<Record<string, string | undefined>>): RequestHeaders => ({
  header: (name) => headers[name],
})
