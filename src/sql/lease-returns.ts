import type { SqlDatabase, Statement } from './database.js'

/** Gives leases of keys back that may have been taken without an answer, or whose return had none. */
export interface LeaseReturns {
  /** Deletes the lease as soon as the database answers. After `leaseMs`, it has ended by itself. */
  add(claim: string, lease: string, leaseMs: number): void
  /** Stops trying. The process's leases end when it is cleared. */
  close(): void
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
const MAX_AT_ONCE = 200
/** More are left to end by themselves. */
const MAX_WAITING = 10_000

/** Returns a statement that frees a key, unless another call has it now or its reply is kept. */
export function returnLease(claim: string, lease: string): Statement {
  return {
    text: 'delete from {replies} where claim = ?1 and lease = ?2 and done = 0',
    parameters: [claim, lease],
  }
}

export function createLeaseReturns(database: Pick<SqlDatabase, 'batch'>): LeaseReturns {
  const waiting = new Map<string, { readonly statement: Statement; readonly until: number }>()
  let timer: NodeJS.Timeout | undefined
  let isReturning = false
  let isClosed = false
  let pauseMs = FIRST_PAUSE_MS

  function schedule(): void {
    if (isClosed || isReturning || timer !== undefined || waiting.size === 0) return
    timer = setTimeout(() => {
      timer = undefined
      isReturning = true
      void returnSome().finally(() => {
        isReturning = false
        schedule()
      })
    }, pauseMs)
    timer.unref()
  }

  async function returnSome(): Promise<void> {
    const now = performance.now()
    for (const [lease, { until }] of waiting) if (until < now) waiting.delete(lease)
    const some = [...waiting].slice(0, MAX_AT_ONCE)
    try {
      await database.batch(some.map(([, { statement }]) => statement))
      for (const [lease] of some) waiting.delete(lease)
      pauseMs = FIRST_PAUSE_MS
    } catch {
      // Whoever asked for the return was told of the fault.
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  return {
    add(claim, lease, leaseMs) {
      if (waiting.size >= MAX_WAITING) return
      waiting.set(lease, { statement: returnLease(claim, lease), until: performance.now() + leaseMs })
      schedule()
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
