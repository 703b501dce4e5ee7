import type { Parameter } from './database.js'

/** Conditions joined by `and`, each with its own numbered parameter. */
export function createConditions(): {
  readonly conditions: string[]
  readonly parameters: Parameter[]
  readonly add: (condition: (value: string) => string, parameter: Parameter) => void
  /** The column holds one of these. */
  readonly addOneOf: (column: string, values: readonly Parameter[]) => void
  /** The clause that they make; empty if there is none. */
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
