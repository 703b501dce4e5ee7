import { PRICE_NAMES } from '../../../base/prices.js'
import { MEDIA_UNITS } from '../../../base/units.js'
import type { ModelView } from '../../protocol.js'
import { capitalized } from '../base/format.js'
import { Problem } from '../base/problem.js'
import type { Values } from './dialogs.js'
import { type FieldSpec, selectField } from './fields.js'
import { json, list } from './read-values.js'

/** The parameters that a model or a route accepts: those in a list, or all or none if the list is empty. */
export function parameterFields(
  supported: readonly string[] | undefined,
  hint: string,
): readonly FieldSpec[] {
  return [
    {
      name: 'supportedParameters',
      label: 'Supported parameters',
      kind: 'area',
      value: supported?.join(', '),
      hint,
    },
    selectField('takesWithoutList', 'If none is listed', supported?.length === 0 ? 'none' : 'all', {
      all: 'it accepts all',
      none: 'it accepts none',
    }),
  ]
}

/** Returns undefined if all are accepted. */
export function readParameters(values: Values): readonly string[] | undefined {
  const listed = list(values, 'supportedParameters')
  return listed.length > 0 || values.text('takesWithoutList') === 'none' ? listed : undefined
}

type Prices = NonNullable<ModelView['prices']>

const LABELS: Readonly<Record<string, string>> = {
  input: 'Input price',
  output: 'Output price',
  cachedInput: 'Cached input price',
  cacheWrite: 'Cache write price',
  reasoning: 'Reasoning price',
  ...Object.fromEntries(
    MEDIA_UNITS.map(({ name, kind, side }) => [name, `${capitalized(kind)} ${side} price`]),
  ),
  request: 'Price per call',
}

export function priceFields(prices: Prices | undefined): readonly FieldSpec[] {
  const fields = PRICE_NAMES.map(
    (name): FieldSpec => ({
      name: `prices.${name}`,
      label: LABELS[name]!,
      value: prices?.[name],
      hint: name === 'request' ? 'Credits per call.' : 'Credits per million tokens. 0 is free.',
    }),
  )
  const tiers: FieldSpec = {
    name: 'prices.tiers',
    label: 'Tiers, as JSON',
    kind: 'area',
    value: prices?.tiers === undefined ? undefined : JSON.stringify(prices.tiers, undefined, 2),
    placeholder: '[{ "above": 200000, "input": "5", "output": "15" }]',
  }
  return [...fields, tiers]
}

/** Returns undefined if no price was entered. */
export function readPrices(values: Values): Prices | undefined {
  const entries = PRICE_NAMES.flatMap((name) => {
    const text = values.text(`prices.${name}`)
    return text === undefined ? [] : [[name, text] as const]
  })
  const tiers = json(values, 'prices.tiers')
  if (entries.length === 0 && tiers === undefined) return undefined
  const prices = Object.fromEntries(entries) as Partial<Prices>
  for (const name of ['input', 'output'] as const) {
    if (prices[name] === undefined) {
      throw new Problem('If there is any price, both input and output need one.', {
        field: `prices.${name}`,
      })
    }
  }
  // The server checks each member of the tiers.
  return { ...prices, ...(tiers !== undefined && { tiers }) } as Prices
}
