/** One call of each command that changes nothing. */
export const READING = [
  'accounts list',
  'accounts balance alice',
  'apps list',
  'user-apps list-reviews',
  'connected-apps list',
  'connected-apps list-history none',
  'keys list',
  'limits list',
  'maintenance open-holds',
  'models list',
  'routes list',
  'entries list',
  'reports spend',
  'audit list',
  'calls list',
  'maintenance verify',
]
