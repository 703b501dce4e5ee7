import { z } from 'zod'
import { present } from '../../base/present.js'
import { type Column, csvLines, timeColumns } from '../serving/csv.js'
import { type Context, get } from '../serving/endpoint.js'
import { rangeSchema, stepsOf } from '../serving/time-steps.js'
import { accountOf } from '../serving/viewer.js'
import { endFilters } from './calls.js'
import { callFilters } from './entries.js'
import { namesOf } from './reports.js'

const { from: _, to: __, ...filters } = callFilters
const overTimeQuery = z.strictObject({
  ...rangeSchema,
  ...filters,
  ...endFilters,
  by: z.enum(['outcome', 'model', 'app', 'key', 'account', 'provider']).optional(),
  /** What the groups are ranked by. */
  rank: z.enum(['calls', 'failures']).default('calls'),
  latency: z.enum(['true', 'false']).optional(),
})
type Query = z.infer<typeof overTimeQuery>
type Reply = Awaited<ReturnType<typeof readSteps>>

const figureColumns: readonly Column<
  Pick<Reply['steps'][number], 'calls' | 'failures' | 'firstTokenMs' | 'durationMs'>
>[] = [
  { name: 'calls', kind: 'number', of: ({ calls }) => calls },
  { name: 'failures', kind: 'number', of: ({ failures }) => failures },
  { name: 'first_token_median_ms', kind: 'number', of: ({ firstTokenMs }) => firstTokenMs?.median },
  { name: 'first_token_95_percent_ms', kind: 'number', of: ({ firstTokenMs }) => firstTokenMs?.slow },
  { name: 'duration_median_ms', kind: 'number', of: ({ durationMs }) => durationMs?.median },
  { name: 'duration_95_percent_ms', kind: 'number', of: ({ durationMs }) => durationMs?.slow },
]

/** Kept calls by steps of a range of time, compared with the period before if its calls are still kept. */
export const callsOverTimeEndpoints = [
  get('calls/over-time', 'both', 'steps', overTimeQuery, readSteps),
  /** The newest first. */
  get('calls/over-time.csv', 'both', 'csv', overTimeQuery, async (query, context) => {
    const { groups, parts, steps } = await readSteps(query, context)
    if (query.by === undefined) {
      const lines = csvLines([...timeColumns, ...figureColumns], steps.toReversed())
      return { csv: { fileName: 'calls-over-time.csv', lines } }
    }
    const rows = parts.toReversed().map(({ step, group, ...figures }) => {
      const { from, to } = steps[step]!
      return { ...figures, from, to, ...groups[group ?? groups.length], isRest: group === undefined }
    })
    const columns: readonly Column<(typeof rows)[number]>[] = [
      ...timeColumns,
      { name: query.by, of: ({ key }) => key },
      { name: 'name', of: ({ name }) => name },
      { name: 'is_rest', of: ({ isRest }) => String(isRest) },
      ...figureColumns,
    ]
    return { csv: { fileName: 'calls-over-time.csv', lines: csvLines(columns, rows) } }
  }),
]

async function readSteps(query: Query, { viewer, admin, clock }: Context) {
  const { range, fromDay, toDay, zone: asked, by, rank, key, problems, account, latency, ...others } = query
  const { length, times, before, zone } = stepsOf({ range, fromDay, toDay, zone: asked }, clock.now(), false)
  const filters = present({
    ...others,
    account: accountOf(viewer, account),
    credentialId: key,
    problems: problems === 'true' ? true : undefined,
  })
  const withLatency = latency === 'true'
  const now = await admin.calls.overTime({ ...filters, times, rank, withLatency, ...present({ by }) })
  const isKept = now.oldest !== undefined && now.oldest <= before[0]!
  const then = isKept ? await admin.calls.overTime({ ...filters, times: before }) : undefined
  const names = by === undefined ? new Map() : await namesOf(by, now.groups, admin)
  return {
    zone,
    length,
    /** All steps, also those without calls. */
    steps: times.slice(0, -1).map((from, index) => {
      const found = now.steps.find(({ step }) => step === index)
      return {
        from,
        to: times[index + 1]!,
        calls: 0,
        failures: 0,
        firstTokenMs: found?.firstTokenMs,
        durationMs: found?.durationMs,
        ...found,
        step: index,
      }
    }),
    /** The groups that are largest in the whole range. `key` is absent for calls without one. */
    groups: now.groups.map((key) => ({ key, name: key === undefined ? undefined : names.get(key) })),
    /** `group` is an index in `groups`. It is absent for all others together. */
    parts: now.parts.map((part) => ({
      ...part,
      group: part.group,
      firstTokenMs: part.firstTokenMs,
      durationMs: part.durationMs,
    })),
    calls: now.calls,
    failures: now.failures,
    /** The time of the oldest call that was counted, if there may be more. */
    since: now.since,
    /** The time of the oldest call that is kept. */
    oldest: now.oldest,
    before: then && {
      from: before[0]!,
      to: before.at(-1)!,
      calls: then.calls,
      failures: then.failures,
      steps: then.steps,
      since: then.since,
    },
  }
}
