import type { Parameter } from './database.js'

/** Conditions joined by `and`, each with its own numbered parameter. */
export function createConditions(): {
  readonly conditions: string[]
  readonly parameters: Parameter[]
  readonly add: (condition: (value: string) => string, parameter: Parameter) => void
  /** Requires the column to contain one of these values. */
  readonly addOneOf: (column: string, values: readonly Parameter[]) => void
  /** The SQL clause, or an empty string if there are no conditions. */
  readonly where: () => string
} {
  const conditions: string[] = []
  const parameters: Parameter[] = []
  return {
    conditions,
    parameters,
    add(condition, parameter) {
      parameters.push(parameter)
      conditions.push(condition(`?${parameters.length}`))
    },
    addOneOf(column, values) {
      const names = values.map((value) => `?${parameters.push(value)}`)
      conditions.push(names.length === 0 ? 'false' : `${column} in (${names.join(', ')})`)
    },
    where: () => (conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`),
  }
}
