import { INPUT_MEDIA, OUTPUT_MEDIA } from '../../../protocol/usage.js'
import type { ChargeView } from '../../protocol.js'
import { capitalized, formatCount } from '../base/format.js'
import { Facts } from './basics.js'
import { Amount } from './values.js'

/** The cost of a call, its prices and tokens. */
export function ChargeFacts({ charge }: { charge: ChargeView }) {
  const { usage } = charge
  return (
    <section>
      <h2>Charge</h2>
      <Facts
        of={[
          ['Charged', <Amount key="cost" value={charge.cost} />],
          ['Base', <Amount key="base" value={charge.base} />],
          ['Markup', <Amount key="markup" value={charge.markup} />],
          ['Basis', charge.basis],
          ['Price version', charge.priceVersion],
          ...pricesOf(charge),
          ['Not charged, above the hold', charge.shortfall],
          ['Key', charge.byok ? "the caller's own provider key" : undefined],
          ['Tokens in', formatCount(usage.prompt)],
          ['of these cached', formatCount(usage.cached)],
          ['of these written to a cache', formatCount(usage.cacheWrite)],
          ...INPUT_MEDIA.map(({ name, kind }) => [`${capitalized(kind)} in`, countOf(usage[name])] as const),
          ['Tokens out', formatCount(usage.completion)],
          ['of these reasoning', formatCount(usage.reasoning)],
          ...OUTPUT_MEDIA.map(
            ({ name, kind }) => [`${capitalized(kind)} out`, countOf(usage[name])] as const,
          ),
        ]}
      />
    </section>
  )
}

function countOf(tokens: number | undefined): string | undefined {
  return tokens === undefined ? undefined : formatCount(tokens)
}

const UNIT_PRICES = [
  ['input', 'per million tokens in'],
  ['cachedInput', 'per million cached'],
  ['cacheWrite', 'per million written to a cache'],
  ...INPUT_MEDIA.map(({ name, kind }) => [name, `per million of ${kind} in`] as const),
  ['output', 'per million tokens out'],
  ['reasoning', 'per million reasoning'],
  ...OUTPUT_MEDIA.map(({ name, kind }) => [name, `per million of ${kind} out`] as const),
  ['request', 'per call'],
] as const

/** The ledger does not keep the prices of the charge itself, and the same version does not prove that they are the same. */
function pricesOf({ currentPrices }: ChargeView) {
  if (currentPrices === undefined) return []
  const { prices, of, priceVersion } = currentPrices
  const version = priceVersion === undefined ? '' : `, version ${priceVersion}`
  const unit = UNIT_PRICES.map(([name, what]) => {
    const price = prices[name]
    return [what, price === undefined ? undefined : <Amount key={name} value={price} />] as const
  })
  return [
    [
      'Unit prices',
      `of the ${of}, as they are now${version}${prices.tiers === undefined ? '' : '; other tiers for long prompts'}`,
    ] as const,
    ...unit,
  ]
}
