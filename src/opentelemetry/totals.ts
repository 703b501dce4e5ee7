import type { Attributes } from '@opentelemetry/api'

export interface Row<Amount> {
  readonly attributes: Attributes
  total: Amount
}

/**
 * Sums that an observable counter reports when it is asked. Who adds keeps the row: an instrument of the SDK would sort
 * and serialise the attributes at every addition.
 */
export class Totals<Amount extends number | bigint> {
  private readonly rows: Row<Amount>[] = []

  constructor(private readonly zero: Amount) {}

  /** Reported from now on, its zero too. */
  row(attributes: Attributes): Row<Amount> {
    const row = { attributes, total: this.zero }
    this.rows.push(row)
    return row
  }

  report(to: (total: Amount, attributes: Attributes) => void): void {
    for (const { attributes, total } of this.rows) to(total, attributes)
  }
}

/** What `map` has under a key, made where it has nothing. */
export function getOrMake<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
