import type { HoldLimit } from '../contracts/index.js'
import { readText } from '../sql/cells.js'
import type { Parameter, Row } from '../sql/database.js'
import type { HoldCommand, SettleCommand } from '../sql/ledger-commands.js'
import type { LimitCells } from '../sql/limit-cells.js'
import type { LimitParameter } from './ledger-parameters.js'

/** Returns the limits of a batch as the arrays of the ledger function. */
export function toLimitArrays(
  holds: readonly HoldCommand[],
  settlements: readonly SettleCommand[],
): Readonly<Record<LimitParameter, readonly Parameter[]>> {
  const buckets = new Places<string>()
  const windows = new Places<HoldLimit['windows']>()
  const arrays = {
    first_limits: [] as number[],
    last_limits: [] as number[],
    limit_parts: [] as string[],
    limit_holds: [] as number[],
    limit_buckets: [] as number[],
    limit_windows: [] as number[],
    limit_units: [] as string[],
    limits: [] as bigint[],
    limit_amounts: [] as bigint[],
    limit_steps: [] as (bigint | null)[],
    limit_hidden: [] as (number | null)[],
    use_settlements: [] as number[],
    use_buckets: [] as number[],
    use_starts: [] as number[],
    use_amounts: [] as bigint[],
  }
  for (const [index, hold] of holds.entries()) {
    arrays.first_limits.push(arrays.limits.length + 1)
    for (const limit of hold.limits) {
      arrays.limit_holds.push(index + 1)
      arrays.limit_buckets.push(buckets.placeOf(limit.bucket))
      arrays.limit_windows.push(windows.placeOf(limit.windows))
      arrays.limit_units.push(limit.unit)
      arrays.limits.push(limit.limit)
      arrays.limit_amounts.push(limit.amount)
      arrays.limit_steps.push(limit.step ?? null)
      arrays.limit_hidden.push(limit.hidden === true ? 1 : null)
    }
    arrays.last_limits.push(arrays.limits.length)
    arrays.limit_parts.push(toParts(hold))
  }
  for (const [index, settlement] of settlements.entries()) {
    for (const { bucket, unit, from, used } of settlement.limits) {
      // The hold has counted the request.
      if (unit === 'requests') continue
      arrays.use_settlements.push(index + 1)
      arrays.use_buckets.push(buckets.placeOf(bucket))
      arrays.use_starts.push(from)
      arrays.use_amounts.push(used)
    }
  }
  const periods = windows.values.flatMap((periods, index) =>
    periods.map(([start, end]) => ({ place: index + 1, start, end })),
  )
  const hasLimits = arrays.limits.length > 0
  return {
    ...arrays,
    first_limits: hasLimits ? arrays.first_limits : [],
    last_limits: hasLimits ? arrays.last_limits : [],
    limit_parts: hasLimits ? arrays.limit_parts : [],
    buckets: buckets.values,
    period_windows: periods.map(({ place }) => place),
    period_starts: periods.map(({ start }) => start),
    period_ends: periods.map(({ end }) => end),
  }
}

/**
 * Returns the JSON of {@link LimitCells} as a template for SQL's `format`. It takes the beginnings of the periods and,
 * if the hold has steps, all amounts after them.
 */
function toParts({ limits, steps }: HoldCommand): string {
  if (limits.length === 0) return ''
  const parts = limits.map(({ bucket, unit, amount }, index) => {
    const [from, held] =
      steps === null ? ['%s', amount] : [`%${index + 1}$s`, `%${limits.length + index + 1}$s`]
    return `[${JSON.stringify(bucket).replaceAll('%', '%%')},"${unit}",${from},"${held}"]`
  })
  return `[${parts.join(',')}]`
}

/** Reads the column `counts`. An element is missing for a hold that was not granted. */
export function readCounts(row: Row): readonly bigint[] {
  return readText(row, 'counts')
    .slice(1, -1)
    .split(',')
    .map((count) => (count === 'NULL' ? 0n : BigInt(count)))
}

/** Distinct values in the order of their first use. Places count from 1, as in SQL. */
class Places<Value> {
  readonly values: Value[] = []
  private readonly places = new Map<Value, number>()

  placeOf(value: Value): number {
    let place = this.places.get(value)
    if (place === undefined) {
      place = this.values.push(value)
      this.places.set(value, place)
    }
    return place
  }
}
