import { type Credits, formatCredits } from '../base/money.js'
import { MEDIA_UNITS } from '../base/units.js'
import type { Model, Price, Prices } from '../contracts/index.js'
import { perThousand, readAmount, Unreadable } from './amount.js'

/** A model as `@pydantic/genai-prices` lists it. Other members are ignored. */
export interface GenaiModel {
  readonly id: string
  readonly name?: string
  readonly description?: string
  readonly context_window?: number
  readonly deprecated?: boolean
  readonly prices: unknown
}

const MAX_ID_BYTES = 256

/**
 * Reads one entry of the list. `without` names its units and members that a catalogue cannot represent.
 *
 * `at` is in milliseconds since the Unix epoch. Throws {@link Unreadable} if there is no exact price.
 */
export function readModel(
  id: string,
  provider: string,
  listed: GenaiModel,
  at: number,
): { model: Model; without: readonly string[] } {
  if (id === '' || Buffer.byteLength(id) > MAX_ID_BYTES || hasControlCharacters(id)) {
    throw new Unreadable('its id is empty, over 256 bytes or has control characters')
  }
  const { prices, without } = readPrices(pricesAt(listed.prices, at))
  const { name, description, context_window: contextLength } = listed
  const hasLength = Number.isSafeInteger(contextLength) && contextLength! > 0
  if (contextLength !== undefined && !hasLength) without.push('context_window')
  return {
    model: {
      id,
      created: 0,
      ownedBy: provider,
      ...(typeof name === 'string' && { name: name.trim() }),
      ...(typeof description === 'string' && { description: description.trim() }),
      ...(hasLength && { contextLength }),
      prices,
    },
    without,
  }
}

function hasControlCharacters(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f')
}

/** Returns the prices in force. In the list, these are the last ones whose condition is met. */
function pricesAt(listed: unknown, at: number): Readonly<Record<string, unknown>> {
  if (!Array.isArray(listed)) return asRecord(listed, 'it has no prices')
  for (const candidate of listed.toReversed()) {
    const { constraint, prices } = asRecord(candidate, 'its prices are not a list of prices')
    if (constraint === undefined) return asRecord(prices, 'it has no prices')
    const { start_date: startDate } = asRecord(constraint, 'its price has an unknown condition')
    if (startDate === undefined) throw new Unreadable('its price depends on the hour')
    const start = typeof startDate === 'string' ? Date.parse(startDate) : Number.NaN
    if (Number.isNaN(start)) throw new Unreadable('its price starts on an invalid date')
    if (at >= start) return asRecord(prices, 'it has no prices')
  }
  throw new Unreadable('none of its prices is in force yet')
}

function asRecord(value: unknown, otherwise: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unreadable(otherwise)
  return value as Readonly<Record<string, unknown>>
}

/** The units that have a price in a catalogue. */
const PRICE_OF_UNIT = new Map<string, keyof Price>([
  ['input_mtok', 'input'],
  ['output_mtok', 'output'],
  ['cache_read_mtok', 'cachedInput'],
  ['cache_write_mtok', 'cacheWrite'],
  ['output_reasoning_mtok', 'reasoning'],
  ...MEDIA_UNITS.map(({ name, side, kind }) => [`${side}_${kind}_mtok`, name] as const),
  ['requests_kcount', 'request'],
])

/** The start of the first step, since every prompt has more tokens. */
const BASE = -1

/** The prices of one unit, each for prompts of more than `above` tokens. The first is above {@link BASE}. */
type Steps = readonly { readonly above: number; readonly amount: Credits }[]

function readPrices(listed: Readonly<Record<string, unknown>>): { prices: Prices; without: string[] } {
  const stepsOf = new Map<keyof Price, Steps>()
  const without: string[] = []
  for (const [unit, value] of Object.entries(listed)) {
    if (value === undefined) continue
    const price = PRICE_OF_UNIT.get(unit)
    if (price === undefined) without.push(unit)
    else stepsOf.set(price, readSteps(value, unit))
  }
  const prices = priceAbove(stepsOf, BASE)
  const starts = new Set([...stepsOf.values()].flatMap((steps) => steps.map(({ above }) => above)))
  const tiers = [...starts]
    .filter((above) => above > BASE)
    .sort((one, other) => one - other)
    .map((above) => ({ above, ...priceAbove(stepsOf, above) }))
  return { prices: tiers.length > 0 ? { ...prices, tiers } : prices, without }
}

function readSteps(value: unknown, unit: string): Steps {
  if (typeof value === 'number') return [{ above: BASE, amount: readUnit(value, unit) }]
  const { base, tiers } = asRecord(value, `its ${unit} is not a price`)
  if (!Array.isArray(tiers)) throw new Unreadable(`its ${unit} is not a price`)
  const steps = [{ above: BASE, amount: readUnit(base, unit) }]
  for (const tier of tiers) {
    const { start, price } = asRecord(tier, `a tier of its ${unit} is not a price`)
    if (typeof start !== 'number' || !Number.isSafeInteger(start) || start <= steps.at(-1)!.above) {
      throw new Unreadable(`the tiers of its ${unit} do not start at ascending numbers of tokens`)
    }
    steps.push({ above: start, amount: readUnit(price, unit) })
  }
  return steps
}

function readUnit(value: unknown, unit: string): Credits {
  const amount = readAmount(value, `its ${unit}`)
  return unit === 'requests_kcount' ? perThousand(amount, `its ${unit}`) : amount
}

function priceAbove(stepsOf: ReadonlyMap<keyof Price, Steps>, above: number): Price {
  const amounts: { -readonly [Name in keyof Price]?: string } = {}
  for (const [price, steps] of stepsOf) {
    amounts[price] = formatCredits(steps.findLast((step) => step.above <= above)!.amount)
  }
  const { input, output, ...others } = amounts
  if (input === undefined) throw new Unreadable('it has no input_mtok')
  if (output === undefined) throw new Unreadable('it has no output_mtok')
  return { input, output, ...others }
}
