import type { RouterOptions } from 'compat-router'

/** The messages between the processes of the bench. */

/** The settings of a router under test. */
export interface RouterSetup {
  /** The folder of the built package, with `index.js`. */
  readonly dist: string
  readonly upstreamPort: number
  readonly models: number
  readonly keys: number
  readonly openHolds: number
  /** `rotating` forgets ended calls, so that only a leak can make memory grow. */
  readonly ledger: 'memory' | 'rotating'
  readonly fastPaths?: RouterOptions['fastPaths']
}

/** The settings of a system under test. */
export interface SystemSetup extends RouterSetup {
  readonly kind: SystemKind
  /** Whether `dist` is that of the earlier build, whose options may have other names. */
  readonly isBaseline?: boolean
}

export type SystemKind = 'pipe' | 'http' | 'connect' | 'express' | 'front'

/**
 * The listener to the events of a router: none, a console and metrics, or these with an OpenTelemetry SDK
 * behind them.
 */
export const WATCHED_NAMES = ['unwatched', 'watched', 'watched-sdk'] as const
export type WatchedName = (typeof WATCHED_NAMES)[number]

/** The stores behind a router, and whether they keep how calls ended. All routers of these names share one process. */
export const STORED_NAMES = [
  'on-memory',
  'on-sqlite',
  'on-sqlite-without-calls',
  'on-postgres',
  'on-postgres-without-calls',
] as const
export type StoredName = (typeof STORED_NAMES)[number]

export interface StoredSetup extends RouterSetup {
  readonly names: readonly StoredName[]
}

export interface StoredReady {
  readonly port: number
  /** The process of the PostgreSQL server, if there is one. The threads of SQLite belong to the router's process. */
  readonly serverId?: number
  /** The API key for each router, if not that of the other systems. */
  readonly tokens: Readonly<Partial<Record<StoredName, string>>>
}

/** Other proxies and gateways, each as it is set up by its own documentation. */
export const PEER_NAMES = ['express-proxy', 'fastify-proxy', 'portkey', 'llmkit', 'llmops'] as const
export type PeerName = (typeof PEER_NAMES)[number]

/** A peer that the bench puts into a host. */
export interface PeerHostSetup {
  readonly kind: Extract<PeerName, 'express-proxy' | 'fastify-proxy' | 'llmkit'>
  /** Where its packages are installed. */
  readonly directory: string
  readonly upstreamPort: number
}

/** One kind of load on one system for a while. */
export interface LoadJob {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent in turn. */
  readonly requests: readonly { readonly token: string; readonly body: string }[]
  readonly connections: number
  /** Connections open evenly over this time. */
  readonly rampMs: number
  /** Under load, but not measured. */
  readonly warmMs: number
  readonly measureMs: number
  /** `slow` reads 64 KiB four times a second, `leaves` disconnects after the first event. */
  readonly reader: 'eager' | 'slow' | 'leaves'
  /** The expected form of every reply. Anything else is an error. */
  readonly expect: { readonly status: number; readonly events?: number }
  /** Whether replies in progress at the end may finish. Otherwise they are cut off. */
  readonly finish: boolean
  /** The process whose CPU time to read, from `/proc`. */
  readonly processId: number
}

export type WebHostKind = 'router-http' | 'handler-hono' | 'constant-http' | 'constant-hono'

export interface WebHostSetup {
  readonly kind: WebHostKind
  readonly dist: string
  readonly upstreamPort: number
}

/** What one call costs, as a mean. */
export interface CallCounts {
  readonly calls: number
  /** Of V8's heap. */
  readonly bytes: number
  readonly timers: number
  readonly promises: number
  readonly listeners: number
}

/** The CPU time that a program has used so far. */
export interface CpuUsage {
  /** Of its process, without the threads of a database. */
  readonly microseconds: number
  /** Of the database behind it, if there is one. */
  readonly databaseMicroseconds: number
}

export interface LoadResult {
  readonly seconds: number
  readonly replies: number
  readonly events: number
  /** All of the job, those before and after the measured time included. */
  readonly all: { readonly replies: number; readonly events: number }
  readonly errors: number
  readonly firstError?: string
  /** NaN if there is no `/proc`. */
  readonly cpuSeconds: number
  /** Milliseconds from sending a request to the end of the reply. */
  readonly replyMs: { readonly p50: number; readonly p99: number }
  /** Milliseconds from sending a request to the first event. */
  readonly firstEventMs: { readonly p50: number; readonly p99: number }
}

/** Requests that arrive at one rate, whether or not earlier ones have their replies. */
export interface OpenJob {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly request: { readonly token: string; readonly body: string }
  /** Requests a second. */
  readonly rate: number
  /** The most connections. If all are busy, an arrival waits for one, and its time runs. */
  readonly connections: number
  /** Under load, but not measured. */
  readonly warmMs: number
  readonly measureMs: number
  readonly expect: LoadJob['expect']
  readonly processId: number
  /** The process of the PostgreSQL server behind the system, if there is one. */
  readonly serverId?: number
}

export interface OpenResult {
  readonly arrived: number
  readonly seconds: number
  readonly replies: number
  readonly errors: number
  readonly firstError?: string
  /** NaN if there is no `/proc`. */
  readonly routerCpuSeconds: number
  readonly databaseCpuSeconds: number
  /** Milliseconds from the arrival on the schedule to the end of the reply. */
  readonly replyMs: Tail
  /** Milliseconds from the arrival on the schedule to the first event. */
  readonly firstEventMs: Tail
}

export interface Tail {
  readonly p50: number
  readonly p99: number
  readonly p999: number
}

/** The live resources of an idle process. */
export interface Inventory {
  /** Counts by name: resources, listeners, live objects. None of them may grow. */
  readonly counts: Readonly<Record<string, number>>
  readonly heapBytes: number
  readonly warnings: readonly string[]
}

/** How many pairs of hold and settlement a ledger completes. */
export interface LedgerJob {
  readonly store: 'memory' | 'sqlite' | 'postgres'
  readonly dist: string
  readonly databaseUrl?: string
  readonly accounts: number
  readonly callers: number
  readonly measureMs: number
}

/** One of several processes on one PostgreSQL ledger. */
export interface ProcessSetup {
  readonly dist: string
  readonly databaseUrl: string
  readonly schema: string
  readonly accounts: number
  readonly callers: number
}

export interface ProcessJob {
  readonly warmMs: number
  readonly measureMs: number
}

/** In the time that is measured. */
export interface ProcessResult {
  readonly pairs: number
  readonly cpuSeconds: number
}
