import { creditsToNumber, formatCredits } from '../../base/money.js'
import type { Principal } from '../../contracts/credentials.js'
import type { Spent } from '../../contracts/look-ups.js'
import type { Limit } from '../../contracts/usage-limits.js'
import { isOwnLimit } from '../../rules/own-limit.js'
import { type CountOfLimit, tightest } from '../look-ups/ask-ledger.js'

/** OpenRouter's words for the periods of limits. */
const RESETS: Readonly<Record<Limit['per'], string | null>> = {
  minute: 'minutely',
  hour: 'hourly',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
  total: null,
}

/**
 * Returns a credential as `GET /key` shows it: OpenRouter's fields, whose amounts are numbers, and the router's own,
 * whose amounts are exact. OpenRouter's fields without a counterpart have a value that says so.
 */
export function keyObject(principal: Principal, spent: Spent, counts: readonly CountOfLimit[], now: number) {
  const budget = tightest(counts, 'credits')
  const rate = tightest(counts, 'requests')
  const { expiresAt } = principal
  return {
    label: labelOf(principal),
    usage: creditsToNumber(spent.total),
    usage_daily: creditsToNumber(spent.today),
    usage_weekly: creditsToNumber(spent.week),
    usage_monthly: creditsToNumber(spent.month),
    limit: budget === undefined ? null : creditsToNumber(budget.definition.amount),
    limit_remaining: budget === undefined ? null : creditsToNumber(budget.left),
    limit_reset: budget === undefined ? null : RESETS[budget.definition.per],
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    rate_limit: {
      requests: rate === undefined ? -1 : Number(rate.definition.amount),
      interval: rate?.definition.per ?? 'none',
      note: 'All limits are in the field limits.',
    },
    is_free_tier: false,
    ...NO_COUNTERPART,
    kind: principal.kind,
    credential_id: principal.credentialId,
    ...rightsOf(principal),
    spent: {
      total: formatCredits(spent.total),
      today: formatCredits(spent.today),
      week: formatCredits(spent.week),
      month: formatCredits(spent.month),
    },
    limits: counts.map((count) => limitObject(count, now)),
  }
}

/** Fields that OpenRouter's clients require, for things that this router does not have. */
const NO_COUNTERPART = {
  is_management_key: false,
  is_provisioning_key: false,
  include_byok_in_limit: false,
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  free_model_daily_requests: { limit: -1, remaining: -1, used: 0 },
  allowed_data_regions: ['global'],
  creator_user_id: null,
  organization_id: null,
  workspace_id: null,
} as const

function labelOf(principal: Principal): string {
  if (principal.label !== undefined) return principal.label
  if (principal.kind === 'api-key') return principal.credentialId
  return principal.app.name ?? principal.app.id
}

/** An app does not learn whose account it uses. */
function rightsOf(principal: Principal) {
  if (principal.kind === 'api-key') {
    return { account: principal.account, app: null, scopes: null, models: principal.allowedModels ?? null }
  }
  const { app, scopes } = principal
  const models = app.allowedModels === 'all' ? null : app.allowedModels
  return { account: null, app: { id: app.id, name: app.name ?? null }, scopes, models }
}

/** Limits of an account or an app are used by others too, so their figures are not shown. */
function limitObject(count: CountOfLimit, now: number) {
  const { definition, held, left, resetMs, used } = count
  const { amount, of: owner = 'credential', per, unit, zone } = definition
  const figure = (value: bigint) => (unit === 'credits' ? formatCredits(value) : value.toString())
  return {
    of: owner,
    unit,
    per,
    zone: zone ?? null,
    resets_at: per === 'total' ? null : new Date(wholeSecond(now + resetMs)).toISOString(),
    ...(isOwnLimit(definition) && {
      amount: figure(amount),
      used: figure(used),
      held: figure(held),
      left: figure(left),
    }),
  }
}

/** Periods end on a full second. The ledger returns the time until then, and its answer takes some milliseconds. */
function wholeSecond(at: number): number {
  return Math.round(at / 1_000) * 1_000
}
