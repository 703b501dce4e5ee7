import type { FaultKind } from '../sql/group-commit.js'

/** The code of a batch whose process was cleared. The process takes a new id and repeats it. */
export const PROCESS_GONE = 'COMPAT_PROCESS_GONE'

const ONE_COMMAND_PATTERN = /^(SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)|UNKNOWN_SQLITE_ERROR_3091)/

/** Decides whether a batch is retried, split, or fails as a whole. */
export function sqliteFault(error: unknown): FaultKind {
  if (isBusy(error) || isProcessGone(error)) return 'transient'
  const { name } = error as { name?: unknown }
  const isOneCommand =
    ONE_COMMAND_PATTERN.test(codeOf(error)) || name === 'RangeError' || name === 'TypeError'
  return isOneCommand ? 'one-command' : 'permanent'
}

/** Returns whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error))
}

export function isProcessGone(error: unknown): boolean {
  return codeOf(error) === PROCESS_GONE
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
