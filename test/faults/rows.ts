/** The rows of the truth table in docs/charging.md, and of the table after it, in their order. */
export const ROWS = {
  'http-error': 'the client is sent an HTTP error status, whatever happened at the provider',
  'all-failed': 'every route failed before the first token',
  empty: 'finished, without a token and without usage',
  reported: 'finished, usage reported',
  estimated: 'finished, no usage reported',
  unreadable: 'content comes that cannot be read',
  broken: 'the provider broke off after the first token',
  'left-finished': 'the client left after the call had finished',
  'left-keyed': 'the client left; the request had an `Idempotency-Key`',
  'left-abort-before': "the client left before the first token; the route has `onDisconnect: 'abort'`",
  'left-abort-after': "the client left after the first token; the route has `onDisconnect: 'abort'`",
  'left-drain': "the client left; the route has `onDisconnect: 'drain'`",
  stopped:
    '`timeouts.totalMs`, `sizes.eventBytes` or `sizes.replyBytes` is passed, or the router is closed, with the stream begun',
  'never-overdraw':
    '`neverOverdraw` is set, or the caller has a budget, and the cost would be above the hold',
  overdraft: 'the cost is above the hold otherwise',
  killed: 'the process is killed',
  'ledger-hold': 'the ledger cannot be reached to take the hold',
  'ledger-settle': 'the ledger cannot be reached to settle',
} as const

export type Row = keyof typeof ROWS
