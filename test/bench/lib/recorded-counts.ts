import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Counts } from './call-counts.js'

/** The counts of a call by major version of Node, as `npm run bench:gate -- --record` wrote them. */
export type CountRecord = Readonly<Record<string, Counts>>

export interface JudgedCount {
  readonly title: string
  readonly value: number
  /** Undefined if nothing was recorded for this version of Node. */
  readonly recorded: number | undefined
  readonly isPast: boolean
}

const FILE = resolve('test/bench/call-counts.json')
/** Counts of one build differ by less. */
const TOLERANCE = 0.03
const TITLES: Readonly<Record<keyof Counts, string>> = {
  bytes: 'bytes allocated',
  promises: 'promises',
  timers: 'timers',
  listeners: 'listeners',
  systemCalls: 'system calls for the network',
}

export function readRecord(): CountRecord {
  return JSON.parse(readFileSync(FILE, 'utf8')) as CountRecord
}

export function writeRecord(counts: Counts): void {
  const rounded = Object.fromEntries(
    Object.entries(counts).map(([name, value]) => [name, Math.round(value * 100) / 100]),
  )
  writeFileSync(FILE, `${JSON.stringify({ ...readRecord(), [majorVersion()]: rounded }, undefined, 2)}\n`)
}

/** A count is past its record if it is more than three per cent above it. One that was not made, such as without `strace`, never is. */
export function judgeCounts(
  counts: Counts,
  record: CountRecord,
  version = majorVersion(),
): readonly JudgedCount[] {
  return (Object.keys(TITLES) as (keyof Counts)[]).map((name) => {
    const recorded = record[version]?.[name]
    const value = counts[name]
    return {
      title: TITLES[name],
      value,
      recorded,
      isPast: recorded !== undefined && value > recorded * (1 + TOLERANCE),
    }
  })
}

function majorVersion(): string {
  return process.versions.node.split('.')[0]!
}
