import type { FaultKind } from '../sql/group-commit.js'

/** Network codes of Node, and what pg says of a connection that ended under a query. */
const CONNECTION_PATTERN = /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ENOTFOUND)/
const LOST_PATTERN =
  /connection (terminated|ended|error)|terminated unexpectedly|not queryable|timeout exceeded|read timeout/i

/**
 * Connections lost (08), refused or shut down (57P0x, 53300), a server that has become a standby (25006), deadlocks and
 * serialization failures (40).
 */
const TRANSIENT_PATTERN = /^(08...|40...|57P0.|53300|25006)$/

/** Text, numbers and keys that do not fit (22, 23, 54; 22021 is text that the server's encoding lacks, 54000 a name too long for an index). */
const ONE_COMMAND_PATTERN = /^(2[23]|54)...$/

/** A lock that was not had in time, be it that of the ledger or of a host's `statement_timeout`. */
const LOCKED_PATTERN = /^(55P03|57014)$/

/** Whether a batch should be tried again, be split, or fail as a whole. */
export function postgresFault(error: unknown): FaultKind {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'string') {
    if (TRANSIENT_PATTERN.test(code) || CONNECTION_PATTERN.test(code)) return 'transient'
    if (LOCKED_PATTERN.test(code)) return 'locked'
    if (ONE_COMMAND_PATTERN.test(code)) return 'one-command'
  }
  return typeof message === 'string' && LOST_PATTERN.test(message) ? 'transient' : 'permanent'
}
