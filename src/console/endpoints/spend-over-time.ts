import { z } from 'zod'
import { present } from '../../base/present.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Column, csvLines, timeColumns } from '../serving/csv.js'
import { type Context, get } from '../serving/endpoint.js'
import { rangeSchema, stepsOf } from '../serving/time-steps.js'
import { accountOf } from '../serving/viewer.js'
import { namesOf } from './reports.js'

const overTimeQuery = z.strictObject({
  ...rangeSchema,
  by: z.enum(['model', 'app', 'key', 'account', 'provider']).optional(),
  /** What the groups are ranked by. */
  rank: z.enum(['cost', 'calls', 'tokens']).default('cost'),
  account: nameSchema.optional(),
  appId: nameSchema.optional(),
  model: nameSchema.optional(),
})
type Query = z.infer<typeof overTimeQuery>
type Reply = Awaited<ReturnType<typeof readSteps>>

const stepColumns: readonly Column<Reply['steps'][number]>[] = [
  ...timeColumns,
  { name: 'calls', kind: 'number', of: ({ calls }) => calls },
  { name: 'cost', kind: 'number', of: ({ cost }) => cost },
  { name: 'base', kind: 'number', of: ({ base }) => base },
  { name: 'markup', kind: 'number', of: ({ markup }) => markup },
  { name: 'prompt_tokens', kind: 'number', of: ({ usage }) => usage.prompt },
  { name: 'cached_tokens', kind: 'number', of: ({ usage }) => usage.cached },
  { name: 'completion_tokens', kind: 'number', of: ({ usage }) => usage.completion },
  { name: 'reasoning_tokens', kind: 'number', of: ({ usage }) => usage.reasoning },
]
const partColumns = (
  by: NonNullable<Query['by']>,
): readonly Column<ReturnType<typeof partRows>[number]>[] => [
  ...timeColumns,
  { name: by, of: ({ key }) => key },
  { name: 'name', of: ({ name }) => name },
  { name: 'is_rest', of: ({ isRest }) => String(isRest) },
  { name: 'calls', kind: 'number', of: ({ calls }) => calls },
  { name: 'cost', kind: 'number', of: ({ cost }) => cost },
  { name: 'tokens', kind: 'number', of: ({ tokens }) => tokens },
]

/** Charges by steps of a range of time, compared with the period before. */
export const spendOverTimeEndpoints = [
  get('reports/spend-over-time', 'both', 'steps', overTimeQuery, readSteps),
  /** The newest first. */
  get('reports/spend-over-time.csv', 'both', 'csv', overTimeQuery, async (query, context) => {
    const reply = await readSteps(query, context)
    const { by } = query
    const lines =
      by === undefined
        ? csvLines(stepColumns, reply.steps.toReversed())
        : csvLines(partColumns(by), partRows(reply).toReversed())
    return { csv: { fileName: 'spend-over-time.csv', lines } }
  }),
]

function partRows({ groups, parts, steps }: Reply) {
  return parts.map(({ step, group, ...figures }) => {
    const { from, to } = steps[step]!
    return { from, to, ...figures, ...groups[group ?? groups.length], isRest: group === undefined }
  })
}

async function readSteps({ by, rank, appId, model, ...query }: Query, { viewer, admin, clock }: Context) {
  const account = accountOf(viewer, query.account)
  const isInUtcDays = account !== undefined || by === 'key' || by === 'account'
  const { length, times, before, zone } = stepsOf(query, clock.now(), isInUtcDays)
  const filters = present({ account, appId, model })
  const [now, then] = await Promise.all([
    admin.reports.spendOverTime({ ...filters, times, rank, ...present({ by }) }),
    admin.reports.spendOverTime({ ...filters, times: before }),
  ])
  const names = by === undefined ? new Map() : await namesOf(by, now.groups, admin)
  return {
    /** The zone of the steps. It is UTC if there are only figures of days in UTC. */
    zone,
    length,
    /** All steps, also those without calls. */
    steps: times.slice(0, -1).map((from, index) => ({
      from,
      to: times[index + 1]!,
      ...(now.steps.find(({ step }) => step === index) ?? { step: index, ...NOTHING }),
    })),
    /** The groups that are largest in the whole range. `key` is absent for calls without one. */
    groups: now.groups.map((key) => ({ key, name: key === undefined ? undefined : names.get(key) })),
    parts: now.parts.map(({ step, group, calls, cost, usage }) => ({
      step,
      /** An index in `groups`. Absent for all others together. */
      group,
      calls,
      cost,
      tokens: usage.prompt + usage.completion,
    })),
    total: now.total,
    books: { ...now.books, paid: now.books.debited + now.books.kept },
    before: {
      from: before[0]!,
      to: before.at(-1)!,
      total: then.total,
      steps: then.steps.map(({ step, calls, cost, usage }) => ({
        step,
        calls,
        cost,
        tokens: usage.prompt + usage.completion,
      })),
    },
    behindMs: now.behindMs,
  }
}

const NOTHING = {
  calls: 0,
  cost: 0n,
  base: 0n,
  markup: 0n,
  usage: { prompt: 0, cached: 0, cacheWrite: 0, completion: 0, reasoning: 0 },
}
