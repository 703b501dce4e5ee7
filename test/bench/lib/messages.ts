/** What the processes of the bench say to each other. */

/** What a router under test is made of. */
export interface RouterSetup {
  /** Where the built package is: the folder with `index.js`. */
  readonly dist: string
  readonly upstreamPort: number
  readonly models: number
  readonly keys: number
  readonly openHolds: number
  /** `rotating` forgets what has ended, so that only a leak can make memory grow. */
  readonly ledger: 'memory' | 'rotating'
}

/** What a system under test is made of. */
export interface SystemSetup extends RouterSetup {
  readonly kind: SystemKind
}

export type SystemKind = 'pipe' | 'http' | 'connect' | 'express' | 'front'

/** Who hears the events of a router: nobody, a console and metrics, or these with an OpenTelemetry SDK behind them. */
export const WATCHED_NAMES = ['unwatched', 'watched', 'watched-sdk'] as const
export type WatchedName = (typeof WATCHED_NAMES)[number]

/** One kind of load on one system for a while. */
export interface LoadJob {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent in turn. */
  readonly requests: readonly { readonly token: string; readonly body: string }[]
  readonly connections: number
  /** Connections are opened evenly over this time. */
  readonly rampMs: number
  /** Under load, but not measured. */
  readonly warmMs: number
  readonly measureMs: number
  /** `slow` reads 64 KiB four times a second, `leaves` breaks off after the first event. */
  readonly reader: 'eager' | 'slow' | 'leaves'
  /** What every reply must be: anything else is an error. */
  readonly expect: { readonly status: number; readonly events?: number }
  /** Whether replies under way at the end may come to theirs; else they are cut off. */
  readonly finish: boolean
  /** Whose CPU time to read, from `/proc`. */
  readonly processId: number
}

export interface LoadResult {
  readonly seconds: number
  readonly replies: number
  readonly events: number
  readonly errors: number
  readonly firstError?: string
  /** NaN where there is no `/proc`. */
  readonly cpuSeconds: number
  /** Milliseconds from sending a request to the whole reply. */
  readonly replyMs: { readonly p50: number; readonly p99: number }
  /** Milliseconds from sending a request to the first event. */
  readonly firstEventMs: { readonly p50: number; readonly p99: number }
}

/** What is alive in a process that has come to rest. */
export interface Inventory {
  /** Counts by name: resources, listeners, live objects. None of them may grow. */
  readonly counts: Readonly<Record<string, number>>
  readonly heapBytes: number
  readonly warnings: readonly string[]
}

/** How many pairs of hold and settlement a ledger does. */
export interface LedgerJob {
  readonly store: 'memory' | 'sqlite' | 'postgres'
  readonly dist: string
  readonly databaseUrl?: string
  readonly accounts: number
  readonly callers: number
  readonly measureMs: number
}
