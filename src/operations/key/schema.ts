import * as z from 'zod'
import { PERIOD_NAMES } from '../../base/periods.js'

const decimal = z.string().regex(/^-?\d+(\.\d{1,9})?$/)
const time = z.iso.datetime()

const limitSchema = z.looseObject({
  of: z.enum(['credential', 'account', 'app']),
  unit: z.enum(['credits', 'requests', 'tokens']),
  per: z.enum(PERIOD_NAMES),
  zone: z.string().nullable().describe('The time zone of days, weeks and months. UTC if null.'),
  resets_at: time.nullable(),
  amount: decimal.optional().describe('Absent, as the three below, for a limit that others use too.'),
  used: decimal.optional(),
  held: decimal.optional().describe('For calls in flight.'),
  left: decimal.optional(),
})

export const keySchema = z.looseObject({
  data: z.looseObject({
    label: z.string(),
    usage: z.number().describe('Credits spent with this credential. `spent.total` is exact.'),
    usage_daily: z.number(),
    usage_weekly: z.number(),
    usage_monthly: z.number(),
    limit: z.number().nullable().describe('The budget that has the least left.'),
    limit_remaining: z.number().nullable(),
    limit_reset: z.string().nullable(),
    expires_at: time.nullable(),
    rate_limit: z.looseObject({ requests: z.int(), interval: z.string(), note: z.string() }),
    is_free_tier: z.boolean(),
    kind: z.enum(['api-key', 'access-token']),
    credential_id: z.string(),
    account: z.string().nullable().describe('The account that pays. Null for an access token.'),
    app: z
      .looseObject({ id: z.string(), name: z.string().nullable() })
      .nullable()
      .describe('The app of an access token.'),
    scopes: z.array(z.string()).nullable().describe('Those of an access token.'),
    models: z.array(z.string()).nullable().describe('All models if null, later ones too.'),
    spent: z
      .looseObject({ total: decimal, today: decimal, week: decimal, month: decimal })
      .describe('Credits less refunds. Periods are in UTC, and weeks begin on Monday.'),
    limits: z.array(limitSchema),
  }),
})
