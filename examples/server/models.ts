import type { Prices } from 'compat-router'
import { standInModels } from 'compat-router/testing'
import { SettingsError, type UpstreamSettings } from './settings.js'

/** A model that the example offers, with its name at the upstream and its prices. */
export interface OfferedModel {
  readonly id: string
  readonly upstreamModel: string
  readonly prices: Prices
  /** Recorded with each charge at these prices. */
  readonly priceVersion: string
}

/** Change it together with the prices below. */
const PRICE_VERSION = 'example-1'

const LIST_TIMEOUT_MS = 10_000

/** In credits per million tokens. The example has no price list, so every model of a real upstream costs the same. */
const EXAMPLE_PRICES: Prices = { input: '1', cachedInput: '0.5', output: '4' }

/** The models of the stand-in: `demo/small`, `demo/large`. */
export function offeredDemoModels(): OfferedModel[] {
  const prices: Record<(typeof standInModels)[number], Prices> = {
    'demo-small': { input: '0.15', cachedInput: '0.075', output: '0.60' },
    'demo-large': { input: '2.50', cachedInput: '1.25', output: '10' },
  }
  return standInModels.map((upstreamModel) => ({
    id: upstreamModel.replace('-', '/'),
    upstreamModel,
    prices: prices[upstreamModel],
    priceVersion: PRICE_VERSION,
  }))
}

/** The models of a real provider: those in `UPSTREAM_MODELS`, otherwise all that it lists, under its own names. */
export async function offeredModels(upstream: UpstreamSettings): Promise<OfferedModel[]> {
  const names = upstream.models ?? (await listedModels(upstream))
  return Object.entries(names).map(([id, upstreamModel]) => ({
    id,
    upstreamModel,
    prices: EXAMPLE_PRICES,
    priceVersion: PRICE_VERSION,
  }))
}

async function listedModels({ baseUrl, apiKey }: UpstreamSettings): Promise<Record<string, string>> {
  const fail = (why: string): never => {
    throw new SettingsError(
      `${baseUrl}/models ${why}. Check UPSTREAM_BASE_URL and UPSTREAM_API_KEY, or name the models in UPSTREAM_MODELS.`,
    )
  }
  const response = await fetch(`${baseUrl}/models`, {
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(LIST_TIMEOUT_MS),
  }).catch((error: Error) => fail(`cannot be reached (${causeOf(error)})`))
  if (!response.ok) return fail(`answered with status ${response.status}`)
  const list: unknown = await response.json().catch(() => undefined)
  const ids = idsOf(list)
  if (ids.length === 0) return fail('lists no model')
  return Object.fromEntries(ids.map((id) => [id, id]))
}

function idsOf(list: unknown): string[] {
  const data = (list as { data?: unknown } | null | undefined)?.data
  return (Array.isArray(data) ? data : [])
    .map((model: { id?: unknown } | null) => model?.id)
    .filter((id): id is string => typeof id === 'string' && id !== '')
}

function causeOf(error: Error): string {
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message
}
