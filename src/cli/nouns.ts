import { accounts } from './commands/accounts.js'
import { apps } from './commands/apps.js'
import { audit } from './commands/audit.js'
import { calls } from './commands/calls.js'
import { connectedApps } from './commands/connected-apps.js'
import { entries } from './commands/entries.js'
import { keys } from './commands/keys.js'
import { limits } from './commands/limits.js'
import { maintenance } from './commands/maintenance.js'
import { models } from './commands/models.js'
import type { Noun } from './commands/noun.js'
import { reports } from './commands/reports.js'
import { routes } from './commands/routes.js'
import { userApps } from './commands/user-apps.js'

/**
 * All commands, by their nouns. Nouns and verbs are those of `Admin`: `accounts credit` is `admin.accounts.credit`.
 */
export const NOUNS: Readonly<Record<string, Noun>> = {
  accounts,
  keys,
  apps,
  'user-apps': userApps,
  'connected-apps': connectedApps,
  models,
  routes,
  limits,
  entries,
  calls,
  reports,
  audit,
  maintenance,
}
