import { z } from 'zod'
import { present } from '../base/present.js'
import type { CallQuery } from '../contracts/index.js'
import { idSchema, parseInput, whose } from '../rules/schemas.js'
import { readNumber, readOptionalNumber, readText } from '../sql/cells.js'
import type { Row, SqlDatabase } from '../sql/database.js'
import { callConditions } from '../sql/read-calls.js'
import { wholeSum } from '../sql/sums.js'
import { checkOrder, MOST_GROUPS, timesSchema } from './over-time.js'

export interface CallsOverTimeQuery
  extends Pick<
    CallQuery,
    'account' | 'appId' | 'credentialId' | 'model' | 'requestId' | 'status' | 'outcome' | 'problems'
  > {
  /**
   * From 2 to 101 times in milliseconds since the Unix epoch, in order. Each one but the last begins a step, and each one
   * but the first ends the step before.
   */
  readonly times: readonly number[]
  /** Splits each step into the {@link CallsOverTime.groups}. */
  readonly by?: 'outcome' | 'model' | 'app' | 'key' | 'account' | 'provider'
  /** What the groups are ranked by. `'calls'` by default. */
  readonly rank?: 'calls' | 'failures'
  /** Whether to read the latency of calls. Then at most the newest 4,000 are read, otherwise 10,000. False by default. */
  readonly withLatency?: boolean
}

/** How kept calls ended, over time. */
export interface CallsOverTime {
  /** The steps with calls, in order. */
  readonly steps: readonly CallStep[]
  /** The keys of the largest groups, at most seven, the largest first. Undefined for calls without one. Empty without `by`. */
  readonly groups: readonly (string | undefined)[]
  /** The calls of each step and group. `group` is an index in `groups`; it is absent for all groups that are not there. */
  readonly parts: readonly (CallStep & { readonly group?: number })[]
  readonly calls: number
  readonly failures: number
  /** The time of the oldest call that was counted. Present if there may be more. */
  readonly since?: number
  /** The time of the oldest call that is kept. Absent if none is. */
  readonly oldest?: number
}

export interface CallStep {
  /** The index of the time that begins the step. */
  readonly step: number
  readonly calls: number
  /** The calls that did not complete, or that completed without a charge. */
  readonly failures: number
  /** With `withLatency`. Absent if no call of the step has a first token. */
  readonly firstTokenMs?: Quantiles
  /** With `withLatency`. */
  readonly durationMs?: Quantiles
}

/** Half of the calls took at most `median`, and 19 of 20 at most `slow`. In whole milliseconds. */
export interface Quantiles {
  readonly median: number
  readonly slow: number
}

const MOST_CALLS = 10_000
/** Latency is within JSON, and has to be sorted. */
const MOST_WITH_LATENCY = 4_000

const schema = z.strictObject({
  times: timesSchema,
  by: z.enum(['outcome', 'model', 'app', 'key', 'account', 'provider']).optional(),
  rank: z.enum(['calls', 'failures']).optional(),
  account: whose(idSchema),
  appId: whose(idSchema),
  credentialId: whose(idSchema),
  model: z.string().optional(),
  requestId: z.string().optional(),
  status: z.int().optional(),
  outcome: z.string().optional(),
  problems: z.boolean().optional(),
  withLatency: z.boolean().optional(),
})
type By = NonNullable<CallsOverTimeQuery['by']>

/** SQL for a number and a text within `details`. */
const READERS = {
  sqlite: {
    ms: (name: string) => `cast(round(json_extract(c.details, '$.${name}')) as integer)`,
    provider: "json_extract(c.details, '$.facts.provider')",
  },
  postgres: {
    ms: (name: string) => `cast(round(cast(cast(c.details as json) ->> '${name}' as numeric)) as bigint)`,
    provider: "(cast(c.details as json) -> 'facts') ->> 'provider'",
  },
} as const

function keyOf(by: By | undefined, engine: SqlDatabase['engine']): string {
  if (by === undefined) return "''"
  const columns: Readonly<Record<By, string>> = {
    outcome: 'c.outcome',
    model: 'c.model',
    app: 'c.app_id',
    key: 'c.credential_id',
    account: 'c.account',
    provider: READERS[engine].provider,
  }
  return `coalesce(${columns[by]}, '')`
}

/** Counts kept calls by steps of time. Reads a bounded number of them, the newest ones. */
export async function readCallsOverTime(
  database: SqlDatabase,
  query: CallsOverTimeQuery,
): Promise<CallsOverTime> {
  const {
    times,
    by,
    rank = 'calls',
    withLatency = false,
    ...filters
  } = parseInput(schema, query, 'callsOverTime')
  checkOrder(times, 'callsOverTime')
  const { parameters, where } = callConditions({ ...filters, from: times[0]!, to: times.at(-1)! })
  const cell = (value: number) => `cast(?${parameters.push(BigInt(value))} as bigint)`
  const { ms } = READERS[database.engine]
  const most = withLatency ? MOST_WITH_LATENCY : MOST_CALLS
  const quantiles = (of: 'duration' | 'token') =>
    withLatency ? `${quantile(of, 50)}, ${quantile(of, 95)}` : 'null, null'
  const starts = times
    .slice(0, -1)
    .map((time, step) => `(${cell(step)}, ${cell(time)}, ${cell(times[step + 1]!)})`)
  const latency = withLatency
    ? `${ms('durationMs')} as duration, ${ms('firstTokenMs')} as first_token`
    : 'null, null'
  const [whole, ...rows] = await database.all({
    isReport: true,
    text: `with steps (step, from_at, to_at) as (values ${starts.join(', ')}),
      newest (at, is_problem, key, duration, first_token) as materialized (
        select c.at, c.is_problem, ${keyOf(by, database.engine)}, ${latency}
        from {calls} c ${where()} order by c.at desc, c.seq desc limit ${most}),
      found as materialized (
        select s.step, c.* from newest c join steps s on c.at >= s.from_at and c.at < s.to_at),
      sides as (select f.*, 0 as side, '' as name from found f ${by === undefined ? '' : groupsBy(rank)}),
      placed as (${withLatency ? PLACED : 'select * from sides'})
      select -1 as step, 0 as side, '' as name, (select count(*) from newest) as calls, 0 as failures,
        (select min(at) from newest) as duration_median, (select min(at) from {calls}) as duration_slow,
        null as token_median, null as token_slow
      union all
      select step, side, min(name), count(*), ${wholeSum('is_problem')},
        ${quantiles('duration')}, ${quantiles('token')}
      from placed group by step, side
      order by 1, 2`,
    parameters,
  })
  const steps: CallStep[] = []
  const groups: (string | undefined)[] = []
  const parts: CallsOverTime['parts'][number][] = []
  for (const row of rows) {
    const side = readNumber(row, 'side')
    if (side === 0) steps.push(toStep(row))
    else if (side > MOST_GROUPS) parts.push(toStep(row))
    else {
      groups[side - 1] = readText(row, 'name') || undefined
      parts.push({ ...toStep(row), group: side - 1 })
    }
  }
  const sum = (of: 'calls' | 'failures') => steps.reduce((all, step) => all + step[of], 0)
  const isCut = readNumber(whole!, 'calls') === most
  return {
    steps,
    groups,
    parts,
    calls: sum('calls'),
    failures: sum('failures'),
    ...present({
      since: isCut ? readOptionalNumber(whole!, 'duration_median') : undefined,
      oldest: readOptionalNumber(whole!, 'duration_slow'),
    }),
  }
}

/** SQL for the calls once more, each under the place of its group. */
function groupsBy(rank: 'calls' | 'failures'): string {
  const order = rank === 'calls' ? 'count(*)' : 'sum(is_problem)'
  const isNamed = `r.place <= ${MOST_GROUPS}`
  return `union all
        select f.*, case when ${isNamed} then r.place else ${MOST_GROUPS + 1} end, case when ${isNamed} then f.key else '' end
        from found f
        join (select key, row_number() over (order by ${order} desc, key) as place from found group by key) r on r.key = f.key`
}

/** SQL for the places of calls by their latency, among those of their step and group. */
const PLACED = `select *,
          row_number() over (partition by step, side order by duration) as duration_place,
          count(*) over (partition by step, side) as durations,
          row_number() over (partition by step, side, first_token is null order by first_token) as token_place,
          count(first_token) over (partition by step, side) as tokens
        from sides`

/** SQL for the value below which so many percent of them are. */
function quantile(of: 'duration' | 'token', percent: number): string {
  const value = of === 'token' ? 'first_token' : 'duration'
  return `max(case when ${of}_place = (${of}s * ${percent} + 99) / 100 then ${value} end)`
}

function toStep(row: Row): CallStep {
  const quantilesOf = (of: 'duration' | 'token'): Quantiles | undefined => {
    const median = readOptionalNumber(row, `${of}_median`)
    const slow = readOptionalNumber(row, `${of}_slow`)
    return median === undefined || slow === undefined ? undefined : { median, slow }
  }
  return {
    step: readNumber(row, 'step'),
    calls: readNumber(row, 'calls'),
    failures: readNumber(row, 'failures'),
    ...present({ durationMs: quantilesOf('duration'), firstTokenMs: quantilesOf('token') }),
  }
}
