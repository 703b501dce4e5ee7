import { formatCredits } from '../base/money.js'

/** A value with a string in place of each `bigint`. */
export type ToJson<Value> = Value extends bigint
  ? string
  : Value extends readonly (infer Item)[]
    ? readonly ToJson<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: ToJson<Value[Name]> }
      : Value

/**
 * Returns a copy of a result that JSON can represent, for example for `res.json`. Each amount of credits becomes its
 * shortest decimal string, as `formatCredits` writes it. The request and token amounts of a limit become whole numbers,
 * also as strings.
 */
export function toJson<Value>(value: Value): ToJson<Value> {
  return convert(value, true) as ToJson<Value>
}

function convert(value: unknown, isCredits: boolean): unknown {
  if (typeof value === 'bigint') return isCredits ? formatCredits(value) : value.toString()
  if (Array.isArray(value)) return value.map((item) => convert(item, isCredits))
  if (typeof value !== 'object' || value === null) return value
  const areCredits = 'unit' in value ? value.unit === 'credits' : isCredits
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, convert(member, areCredits)]),
  )
}
