import { inspect } from 'node:util'

/**
 * A value that is never printed: `String()`, `JSON.stringify`, template literals and `util.inspect` all show `[secret]`.
 *
 * It is an interface, so any object with `reveal()` can be one.
 */
export interface Secret {
  reveal(): string
}

const SHOWN = '[secret]'

/**
 * Wraps a value so that only `reveal()` returns it. Throws a `TypeError`, without the value, if it is not a string.
 *
 * @example
 * ```ts
 * const secret = createSecret('sk-own')
 * console.log(String(secret), secret.reveal()) // [secret] sk-own
 * ```
 */
export function createSecret(value: string): Secret {
  if (typeof value !== 'string') {
    throw new TypeError(
      `createSecret takes a string; got ${typeof value}. Is an environment variable missing?`,
    )
  }
  return Object.freeze({
    reveal: () => value,
    toString: () => SHOWN,
    toJSON: () => SHOWN,
    [Symbol.toPrimitive]: () => SHOWN,
    [inspect.custom]: () => SHOWN,
  })
}
