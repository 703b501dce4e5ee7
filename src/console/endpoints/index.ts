import type { Endpoint } from '../serving/endpoint.js'
import { accountEndpoints } from './accounts.js'
import { callEndpoints } from './calls.js'
import { catalogueEndpoints } from './catalogue.js'
import { connectEndpoints } from './connect.js'
import { credentialEndpoints } from './credentials.js'
import { keptCallEndpoints } from './kept-calls.js'
import { limitEndpoints } from './limits.js'
import { liveEndpoints } from './live.js'
import { ownAppEndpoints } from './own-apps.js'
import { spendEndpoints } from './spend.js'

export const endpoints: readonly Endpoint[] = [
  ...liveEndpoints,
  ...spendEndpoints,
  ...callEndpoints,
  ...keptCallEndpoints,
  ...accountEndpoints,
  ...credentialEndpoints,
  ...catalogueEndpoints,
  ...limitEndpoints,
  ...connectEndpoints,
  ...ownAppEndpoints,
]
