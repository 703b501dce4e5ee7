import { z } from 'zod'
import { outOfRange } from '../base/invalid-input.js'
import { present } from '../base/present.js'
import type { CallQuery } from '../contracts/index.js'
import { idSchema, parseInput, whose } from '../rules/schemas.js'
import { readNumber, readOptionalNumber, readText } from '../sql/cells.js'
import type { SqlDatabase } from '../sql/database.js'
import { callConditions } from '../sql/read-calls.js'
import { wholeSum } from '../sql/sums.js'

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
  /** The time of the oldest call that was counted. Present if there may be more: only the newest 20,000 of the query are. */
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
  /** Absent if no call of the step has a first token. */
  readonly firstTokenMs?: Quantiles
  readonly durationMs: Quantiles
}

/** Half of the calls took at most `median`, and 19 of 20 at most `slow`. In whole milliseconds. */
export interface Quantiles {
  readonly median: number
  readonly slow: number
}

const MOST_CALLS = 20_000
const MOST_STEPS = 100
const MOST_GROUPS = 7

const schema = z.strictObject({
  times: z
    .array(z.int())
    .min(2)
    .max(MOST_STEPS + 1),
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

/** Counts kept calls by steps of time. Reads at most {@link MOST_CALLS}, the newest ones. */
export async function readCallsOverTime(
  database: SqlDatabase,
  query: CallsOverTimeQuery,
): Promise<CallsOverTime> {
  const { times, by, rank = 'calls', ...filters } = parseInput(schema, query, 'callsOverTime')
  if (times.some((time, index) => index > 0 && time <= times[index - 1]!))
    throw outOfRange({ of: 'callsOverTime', field: 'times' }, 'must be in order')
  const { parameters, where } = callConditions({ ...filters, from: times[0]!, to: times.at(-1)! })
  const cell = (value: number) => `cast(?${parameters.push(BigInt(value))} as bigint)`
  const { ms } = READERS[database.engine]
  const starts = times
    .slice(0, -1)
    .map((time, step) => `(${cell(step)}, ${cell(time)}, ${cell(times[step + 1]!)})`)
  const [whole, ...rows] = await database.all({
    isReport: true,
    text: `with steps (step, from_at, to_at) as (values ${starts.join(', ')}),
      newest as (select * from {calls} ${where()} order by at desc, seq desc limit ${MOST_CALLS}),
      found as (select s.step, ${keyOf(by, database.engine)} as key, c.is_problem,
          ${ms('durationMs')} as duration, ${ms('firstTokenMs')} as first_token
        from newest c join steps s on c.at >= s.from_at and c.at < s.to_at),
      ranked as (select key, row_number() over (order by ${rank === 'calls' ? 'count(*)' : 'sum(is_problem)'} desc, key) as place
        from found group by key),
      sides as (select f.*, 0 as side, '' as name from found f
        ${by === undefined ? '' : `union all select f.*, case when r.place <= ${MOST_GROUPS} then r.place else ${MOST_GROUPS + 1} end, case when r.place <= ${MOST_GROUPS} then f.key else '' end from found f join ranked r on r.key = f.key`}),
      placed as (select step, side, name, is_problem, duration, first_token,
          row_number() over (partition by step, side order by duration) as duration_place,
          count(*) over (partition by step, side) as durations,
          row_number() over (partition by step, side, first_token is null order by first_token) as token_place,
          count(first_token) over (partition by step, side) as tokens
        from sides)
      select -1 as step, 0 as side, '' as name, (select count(*) from newest) as calls, 0 as failures,
        (select min(at) from newest) as duration_median, (select min(at) from {calls}) as duration_slow,
        null as token_median, null as token_slow
      union all
      select step, side, min(name), count(*), ${wholeSum('is_problem')},
        ${quantile('duration', 'durations', 50)}, ${quantile('duration', 'durations', 95)},
        ${quantile('token', 'tokens', 50)}, ${quantile('token', 'tokens', 95)}
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
  const isCut = readNumber(whole!, 'calls') === MOST_CALLS
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

/** SQL for the value below which so many percent of them are. */
function quantile(name: 'duration' | 'token', count: string, percent: number): string {
  const value = name === 'token' ? 'first_token' : 'duration'
  return `max(case when ${name}_place = (${count} * ${percent} + 99) / 100 then ${value} end) as ${name}_${percent === 50 ? 'median' : 'slow'}`
}

function toStep(row: Parameters<typeof readNumber>[0]): CallStep {
  const median = readOptionalNumber(row, 'token_median')
  const slow = readOptionalNumber(row, 'token_slow')
  return {
    step: readNumber(row, 'step'),
    calls: readNumber(row, 'calls'),
    failures: readNumber(row, 'failures'),
    durationMs: { median: readNumber(row, 'duration_median'), slow: readNumber(row, 'duration_slow') },
    ...(median !== undefined && slow !== undefined && { firstTokenMs: { median, slow } }),
  }
}
