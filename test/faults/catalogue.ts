import { broken } from './cases/broken.js'
import { byok } from './cases/byok.js'
import { clientLeft } from './cases/client-left.js'
import { embeddings } from './cases/embeddings.js'
import { finished } from './cases/finished.js'
import { swaps } from './cases/holds.js'
import { httpErrors, routesFailed } from './cases/http-errors.js'
import { killed } from './cases/killed.js'
import { holdFaults, releaseFaults, settleFaults } from './cases/ledger.js'
import { leftCalls } from './cases/left-calls.js'
import { overdraw } from './cases/overdraw.js'
import { stopped } from './cases/stopped.js'
import { unreadable } from './cases/unreadable.js'
import type { Fault } from './fault.js'
import { ROWS, type Row } from './rows.js'

const ALL: readonly Fault[] = [
  ...httpErrors,
  ...routesFailed,
  ...finished,
  ...unreadable,
  ...broken,
  ...clientLeft,
  ...leftCalls,
  ...stopped,
  ...overdraw,
  ...byok,
  ...killed,
  ...swaps,
  ...holdFaults,
  ...settleFaults,
  ...releaseFaults,
  ...embeddings,
]

/** Every fault, in the order of the truth table. */
export const FAULTS: readonly Fault[] = (Object.keys(ROWS) as Row[]).flatMap((row) =>
  ALL.filter((fault) => fault.row === row),
)
