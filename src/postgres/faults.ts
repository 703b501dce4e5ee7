import type { FaultKind } from '../sql/group-commit.js'

/** The SQLSTATE of a batch whose process was cleared. The process takes a new id and repeats it. */
const PROCESS_GONE = 'P0C01'

/** Node's network error codes. */
const CONNECTION_PATTERN = /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ENOTFOUND)/
/** Messages of `pg` for a connection that was lost during a query. */
const LOST_PATTERN =
  /connection (terminated|ended|error)|terminated unexpectedly|not queryable|timeout exceeded|read timeout/i

/**
 * Connections that were lost (08), refused or shut down (57P0x, 53300), a server that became a standby (25006), deadlocks
 * and serialization failures (40), a process that was cleared (`PROCESS_GONE`).
 */
const TRANSIENT_PATTERN = new RegExp(`^(08...|40...|57P0.|53300|25006|${PROCESS_GONE})$`)

/**
 * Invalid text, numbers and keys (22, 23, 54), such as text that the server's encoding lacks (22021) or a name too long for
 * an index (54000).
 */
const ONE_COMMAND_PATTERN = /^(2[23]|54)...$/

/** A lock that was not acquired within the ledger's `lock_timeout` or a host's `statement_timeout`. */
const LOCKED_PATTERN = /^(55P03|57014)$/

export function isProcessGone(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === PROCESS_GONE
}

/** Decides whether a batch is retried, split, or fails as a whole. */
export function postgresFault(error: unknown): FaultKind {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'string') {
    if (TRANSIENT_PATTERN.test(code) || CONNECTION_PATTERN.test(code)) return 'transient'
    if (LOCKED_PATTERN.test(code)) return 'locked'
    if (ONE_COMMAND_PATTERN.test(code)) return 'one-command'
  }
  return typeof message === 'string' && LOST_PATTERN.test(message) ? 'transient' : 'permanent'
}
