/** One call of each command that changes nothing. */
export const READING = [
  'accounts list',
  'balance alice',
  'apps list',
  'apps review list',
  'connected-apps list',
  'connected-apps history none',
  'credentials list',
  'limits list',
  'holds list',
  'models list',
  'routes list',
  'entries',
  'spend',
  'calls',
  'verify',
]
