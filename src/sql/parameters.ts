import type { Statement } from './database.js'
import { checkText } from './text.js'

/** Throws a `TypeError` if a value has a type that no column has. A boolean would make SQLite's driver end the process. */
export function checkParameters(statements: readonly Statement[]): void {
  for (const { parameters = [] } of statements) {
    for (const parameter of parameters as readonly unknown[]) {
      if (typeof parameter === 'string') checkText(parameter, 'parameter')
      else if (parameter !== null && typeof parameter !== 'bigint' && typeof parameter !== 'number') {
        throw new TypeError(`A parameter must be text, a number or null; got ${typeof parameter}`)
      }
    }
  }
}
