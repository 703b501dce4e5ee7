import { broken } from './cases/broken.js'
import { byok } from './cases/byok.js'
import { clientLeft } from './cases/client-left.js'
import { drainCaps } from './cases/drain-caps.js'
import { finished } from './cases/finished.js'
import { swaps } from './cases/holds.js'
import { httpErrors, routesFailed } from './cases/http-errors.js'
import { killed } from './cases/killed.js'
import { holdFaults, releaseFaults, settleFaults } from './cases/ledger.js'
import { overdraw } from './cases/overdraw.js'
import { stopped } from './cases/stopped.js'
import type { Fault } from './fault.js'
import { ROWS, type Row } from './rows.js'

const ALL: readonly Fault[] = [
  ...httpErrors,
  ...routesFailed,
  ...finished,
  ...broken,
  ...clientLeft,
  ...drainCaps,
  ...stopped,
  ...overdraw,
  ...byok,
  ...killed,
  ...swaps,
  ...holdFaults,
  ...settleFaults,
  ...releaseFaults,
]

/** Every fault, in the order of the truth table. */
export const FAULTS: readonly Fault[] = (Object.keys(ROWS) as Row[]).flatMap((row) =>
  ALL.filter((fault) => fault.row === row),
)
