import { accountEndpoints } from './accounts.js'
import { appEndpoints } from './apps.js'
import { auditEndpoints } from './audit.js'
import { callEndpoints } from './calls.js'
import { callsOverTimeEndpoints } from './calls-over-time.js'
import { catalogueEndpoints } from './catalogue.js'
import { connectedAppEndpoints } from './connected-apps.js'
import { entryEndpoints } from './entries.js'
import { findEndpoints } from './find.js'
import { homeEndpoints } from './home.js'
import { keyEndpoints } from './keys.js'
import { liveEndpoints } from './live.js'
import { maintenanceEndpoints } from './maintenance.js'
import { reportEndpoints } from './reports.js'
import { spendOverTimeEndpoints } from './spend-over-time.js'

/**
 * The API of the console's pages. `../protocol.ts` derives their types from it. A path that writes is a function of
 * administration, `admin.connectedApps.setCap` as `connected-apps/set-cap`; one that reads begins with the same noun.
 *
 * Failures are `ErrorReply`: 400 for invalid input, 401 if nobody is signed in, 403 if only an operator may do this or
 * the request is from another site, 404 if an item does not exist or is not the viewer's, 405, 409 if a reference or a
 * secret is taken or somebody else has changed the item since, 413, 415, 429 if too many queries of a user wait, 500.
 * POST requires `content-type: application/json`.
 */
export const endpoints = [
  ...homeEndpoints,
  ...liveEndpoints,
  ...findEndpoints,
  ...reportEndpoints,
  ...spendOverTimeEndpoints,
  ...entryEndpoints,
  ...callEndpoints,
  ...callsOverTimeEndpoints,
  ...accountEndpoints,
  ...keyEndpoints,
  ...appEndpoints,
  ...connectedAppEndpoints,
  ...catalogueEndpoints,
  ...auditEndpoints,
  ...maintenanceEndpoints,
]
