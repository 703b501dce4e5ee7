import { formatCredits, parseCredits } from '../../base/money.js'
import { CALENDAR_PERIODS, type CalendarPeriod } from '../../base/periods.js'
import { type MarkupTerms, NO_MARKUP, type PriceTable, parseMarkup, parsePrices } from '../../base/prices.js'
import type {
  AppModels,
  CatalogueStore,
  ConnectedApp,
  Markup,
  Model,
  RegisteredApp,
} from '../../contracts/index.js'
import { price } from '../../engine/charging/price.js'
import { NO_USAGE } from '../../protocol/usage.js'
import { includesModels } from '../../rules/app-models.js'
import { exceedsMarkup } from '../../rules/markups.js'
import type { Settings } from './options.js'
import { SCOPES } from './scopes.js'

/** The terms that a user is asked to accept. */
export interface Terms {
  readonly scopes: readonly string[]
  readonly models: AppModels
  readonly markup: Markup
}

/** The call in the example on the page. */
export const TYPICAL_USAGE = { ...NO_USAGE, prompt: 1_000, completion: 500 }

/** A typical call of the most expensive model, in credits, as it would be charged. */
export interface Example {
  readonly model: string
  readonly base: bigint
  readonly markup: bigint
  readonly cost: bigint
}

export function termsOf(app: RegisteredApp, scopes: readonly string[], { maxMarkup }: Settings): Terms {
  const asked = parseMarkup(app.markup)
  return {
    scopes: [...SCOPES.keys()].filter((scope) => scopes.includes(scope)),
    models: app.allowedModels === 'all' ? 'all' : [...app.allowedModels].sort(),
    markup: markupOf(maxMarkup === undefined ? asked : smaller(asked, maxMarkup)),
  }
}

/** Whether the connected app already includes these terms, so that its user need not be asked again. */
export function isCovered(terms: Terms, connectedApp: ConnectedApp | undefined, { cap }: Settings): boolean {
  if (connectedApp === undefined || (connectedApp.endsAt !== undefined && connectedApp.endsAt <= Date.now()))
    return false
  if (cap.required && connectedApp.cap === undefined) return false
  return (
    terms.scopes.every((scope) => connectedApp.scopes.includes(scope)) &&
    includesModels(connectedApp.models, terms.models) &&
    !exceedsMarkup(terms.markup, connectedApp.markup)
  )
}

function smaller(one: MarkupTerms, other: MarkupTerms): MarkupTerms {
  return {
    basisPoints: least(one.basisPoints, other.basisPoints),
    flat: least(one.flat, other.flat),
  }
}

function least(one: bigint, other: bigint): bigint {
  if (one < other) return one
  return other
}

function markupOf({ basisPoints, flat }: MarkupTerms): Markup {
  return { basisPoints: Number(basisPoints), ...(flat !== 0n && { flat: formatCredits(flat) }) }
}

/**
 * Returns all models of the catalogue, or those with these ids, in this order. Omits models that the catalogue lacks, and
 * rows that are no models, which the router reports.
 */
export async function modelsOf(catalogue: CatalogueStore, ids: AppModels): Promise<readonly Model[]> {
  const models = await catalogue.list({ requestId: 'connect', signal: new AbortController().signal })
  if (ids === 'all') return models.filter((model: Model | null) => model !== null)
  const byId = new Map(models.map((model: Model | null) => [model?.id, model]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/**
 * Computes the example with the engine's own prices and rounding. Undefined if no model has prices. Passes over prices
 * that cannot be read, since each call of their model reports them.
 */
export function exampleOf(models: readonly Model[], markup: Markup): Example | undefined {
  const parsed = parseMarkup(markup)
  const terms = parsed.basisPoints === 0n && parsed.flat === 0n ? NO_MARKUP : parsed
  let dearest: Example | undefined
  for (const { id, name, prices } of models) {
    const table = readPrices(prices)
    if (table === undefined) continue
    const priced = price(TYPICAL_USAGE, { prices: table, markup: terms })
    if (dearest === undefined || priced.cost > dearest.cost) dearest = { model: name ?? id, ...priced }
  }
  return dearest
}

function readPrices(prices: Model['prices']): PriceTable | undefined {
  try {
    return prices && parsePrices(prices)
  } catch {
    return undefined
  }
}

/**
 * Returns the cap that the page fills in: the current one, or otherwise the smaller of the app's suggestion and the
 * host's. A monthly cap is not used as a daily one, which would let an app spend thirty times as much, nor any other as
 * one of a shorter period. It only bounds the other suggestions.
 */
export function suggestedCap(
  app: RegisteredApp,
  connectedApp: ConnectedApp | undefined,
  { cap }: Settings,
): string {
  const present = connectedApp?.cap
  if (present !== undefined && !isLonger(present.per, cap.period)) {
    return formatCredits(present.amount)
  }
  if (connectedApp !== undefined && present === undefined && !cap.required) return ''
  const wish = app.suggestedCap === undefined ? cap.suggested : parseCredits(app.suggestedCap)
  const suggested = least(wish, cap.suggested)
  return formatCredits(present === undefined ? suggested : least(present.amount, suggested))
}

function isLonger(one: CalendarPeriod, other: CalendarPeriod): boolean {
  return CALENDAR_PERIODS.indexOf(one) > CALENDAR_PERIODS.indexOf(other)
}
