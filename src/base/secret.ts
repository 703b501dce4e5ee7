import { inspect } from 'node:util'

/**
 * A value that does not print: `String()`, `JSON.stringify`, template literals and `util.inspect` all show `[secret]`.
 *
 * An interface, so that any object with `reveal()` fits; nothing relies on its class.
 */
export interface Secret {
  reveal(): string
}

const SHOWN = '[secret]'

/** Wraps a value so that only `reveal()` gives it back. Throws a `TypeError`, without the value, if it is not a string. */
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
