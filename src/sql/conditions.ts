import { toTimeCell } from './cells.js'
import type { Parameter } from './database.js'

/** Conditions joined by `and`, each with its own numbered parameter after those of `parameters`. */
export function createConditions(parameters: Parameter[] = []): {
  readonly conditions: string[]
  readonly parameters: Parameter[]
  readonly add: (condition: (value: string) => string, parameter: Parameter) => void
  /** Requires each of these columns to equal its parameter, unless that is undefined. */
  readonly addEqual: (columns: Readonly<Record<string, Parameter | undefined>>) => void
  /** Requires a time from `from` on and before `to`. */
  readonly addTimes: (
    column: string,
    period: { readonly from?: number | undefined; readonly to?: number | undefined },
  ) => void
  /** Requires the column to contain one of these values. */
  readonly addOneOf: (column: string, values: readonly Parameter[]) => void
  /** The SQL clause, or an empty string if there are no conditions. */
  readonly where: () => string
} {
  const conditions: string[] = []
  const add = (condition: (value: string) => string, parameter: Parameter): void => {
    parameters.push(parameter)
    conditions.push(condition(`?${parameters.length}`))
  }
  return {
    conditions,
    parameters,
    add,
    addEqual(columns) {
      for (const [column, parameter] of Object.entries(columns)) {
        if (parameter !== undefined) add((value) => `${column} = ${value}`, parameter)
      }
    },
    addTimes(column, { from, to }) {
      if (from !== undefined) add((value) => `${column} >= ${value}`, toTimeCell(from, 'from'))
      if (to !== undefined) add((value) => `${column} < ${value}`, toTimeCell(to, 'to'))
    },
    addOneOf(column, values) {
      const names = values.map((value) => `?${parameters.push(value)}`)
      conditions.push(names.length === 0 ? 'false' : `${column} in (${names.join(', ')})`)
    },
    where: () => (conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`),
  }
}
