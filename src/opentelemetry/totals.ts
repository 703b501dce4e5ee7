import type { Attributes } from '@opentelemetry/api'

export interface Row<Amount> {
  readonly attributes: Attributes
  total: Amount
}

/** With the one for all that come after, as many as the SDK tells apart: of more it would report sums that nobody made. */
export const MAX_ROWS = 1_998
/** As the SDK marks what it counts together. */
export const FURTHER: Attributes = { 'otel.metric.overflow': true }

/**
 * Sums that an observable counter reports when it is asked. Who adds keeps the row: an instrument of the SDK would sort
 * and serialise the attributes at every addition.
 */
export class Totals<Amount extends number | bigint> {
  private readonly rows: Row<Amount>[] = []
  private further: Row<Amount> | undefined

  constructor(private readonly zero: Amount) {}

  /** Reported from now on, its zero too. All that come after the first 1,998 are one. */
  row(attributes: Attributes): Row<Amount> {
    if (this.rows.length < MAX_ROWS) return this.add(attributes)
    this.further ??= this.add(FURTHER)
    return this.further
  }

  private add(attributes: Attributes): Row<Amount> {
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
