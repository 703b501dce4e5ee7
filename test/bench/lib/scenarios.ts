import type { Answer } from './chat-body.js'
import type { LoadJob } from './messages.js'

/** The load for every system in turn, and the numbers to show. */
export interface Scenario {
  readonly name: string
  readonly title: string
  readonly kind: 'load' | 'memory'
  readonly systems: readonly string[]
  readonly answer: Answer
  readonly promptBytes?: number
  readonly connections: number
  readonly rampMs?: number
  readonly reader?: LoadJob['reader']
  readonly columns: readonly Column[]
}

/** One number of a sample, and whether its ratio to the limit gets a column. */
export interface Column {
  readonly metric: Metric
  readonly title: string
  readonly digits: number
  readonly compared?: 'ratio' | 'difference'
}

export type Metric =
  | 'rate'
  | 'cpuMicroseconds'
  | 'p50Ms'
  | 'p99Ms'
  | 'busy'
  | 'beforeMebibytes'
  | 'openMebibytes'
  | 'kibibytesEach'

export type Sample = Readonly<Record<Metric, number>> & {
  readonly errors: number
  readonly firstError?: string
}

export const NO_METRICS: Readonly<Record<Metric, number>> = Object.freeze({
  rate: Number.NaN,
  cpuMicroseconds: Number.NaN,
  p50Ms: Number.NaN,
  p99Ms: Number.NaN,
  busy: Number.NaN,
  beforeMebibytes: Number.NaN,
  openMebibytes: Number.NaN,
  kibibytesEach: Number.NaN,
})

const HOSTS = ['pipe', 'http', 'connect', 'front', 'express']
const ALL = [...HOSTS, 'portkey']
const EVENTS = 200
const PROMPT_BYTES = 100_000

const busy: Column = { metric: 'busy', title: 'core busy', digits: 2 }

function requestColumns(): Column[] {
  return [
    { metric: 'rate', title: 'requests/s', digits: 0, compared: 'ratio' },
    { metric: 'cpuMicroseconds', title: 'CPU µs/request', digits: 1, compared: 'ratio' },
    { metric: 'p50Ms', title: 'p50 ms', digits: 2 },
    { metric: 'p99Ms', title: 'p99 ms', digits: 2 },
    busy,
  ]
}

const eventColumns: readonly Column[] = [
  { metric: 'rate', title: 'events/s', digits: 0, compared: 'ratio' },
  { metric: 'cpuMicroseconds', title: 'CPU µs/event', digits: 2, compared: 'ratio' },
  { metric: 'p50Ms', title: 'first event p50 ms', digits: 2 },
  { metric: 'p99Ms', title: 'p99 ms', digits: 2 },
  busy,
]

const memoryColumns: readonly Column[] = [
  { metric: 'beforeMebibytes', title: 'MiB before', digits: 0 },
  { metric: 'openMebibytes', title: 'MiB open', digits: 0 },
  { metric: 'kibibytesEach', title: 'KiB each', digits: 1, compared: 'ratio' },
]

function json(name: string, title: string, connections: number, more: Partial<Scenario> = {}): Scenario {
  const columns = requestColumns()
  return { name, title, kind: 'load', systems: ALL, answer: {}, connections, columns, ...more }
}

export const SCENARIOS: readonly Scenario[] = [
  json('json-1', 'JSON replies, one call at a time', 1),
  json('json-50', 'JSON replies, 50 calls at once', 50),
  json('json-200', 'JSON replies, 200 calls at once', 200),
  json('prompt', 'A prompt of 100 KB, JSON replies, 20 calls at once', 20, { promptBytes: PROMPT_BYTES }),
  {
    name: 'burst',
    title: `Streams of ${EVENTS} events as fast as possible, 50 at once`,
    kind: 'load',
    systems: ALL,
    answer: { events: EVENTS },
    connections: 50,
    columns: eventColumns,
  },
  {
    name: 'segments',
    title: `Streams of ${EVENTS} events, each in a TCP segment of its own, 50 at once`,
    kind: 'load',
    systems: ALL,
    answer: { events: EVENTS, segments: true },
    connections: 50,
    columns: eventColumns,
  },
  {
    name: 'paced',
    title: 'Streams with an event every 20 ms, 200 at once',
    kind: 'load',
    systems: ALL,
    answer: { events: 100, paceMs: 20 },
    connections: 200,
    rampMs: 1_000,
    columns: eventColumns,
  },
  {
    name: 'first-token',
    title: 'Time to the first event, one stream at a time',
    kind: 'load',
    systems: ['pipe', 'direct', ...HOSTS.slice(1), 'portkey'],
    answer: { events: 5 },
    connections: 1,
    columns: [
      { metric: 'p50Ms', title: 'first event p50 ms', digits: 3, compared: 'difference' },
      { metric: 'p99Ms', title: 'p99 ms', digits: 3 },
    ],
  },
  {
    name: 'memory-open',
    title: 'Memory with 1,000 streams open, an event every 500 ms',
    kind: 'memory',
    systems: ALL,
    answer: { events: 60, paceMs: 500 },
    connections: 1_000,
    rampMs: 2_000,
    columns: memoryColumns,
  },
  {
    name: 'memory-slow',
    title: 'Memory with 100 clients that read a long reply slowly',
    kind: 'memory',
    systems: ALL,
    answer: { events: 40_000 },
    connections: 100,
    rampMs: 500,
    reader: 'slow',
    columns: memoryColumns,
  },
]
