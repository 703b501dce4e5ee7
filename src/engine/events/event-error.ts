import type { EventError } from '../../contracts/events.js'

const MAX_CAUSES = 3
const MAX_MESSAGE_CHARS = 500
const MAX_STACK_CHARS = 4_096
/** Matches credentials in the texts of clients, drivers and providers. */
const SECRETS =
  /\b(?:(?:sk|at|pk|rk|key)[-_]|(?:Bearer|Basic) )[A-Za-z0-9._~+/=-]{6,}|\bv1\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*){4}|:\/\/[^\s/@]{1,256}@/g
/** If a text is cut off before the `@` of an address, its end may be a password. */
const CUT_ADDRESS = /:\/\/[^\s/@]{1,256}$/

/**
 * Returns an error as plain data for an event: shortened, scrubbed of anything that looks like a credential, and at
 * most three causes deep. Never throws, whatever a host's store, adapter or listener has thrown.
 */
export function eventError(error: unknown, causes = MAX_CAUSES): EventError {
  try {
    return read(error, causes)
  } catch {
    return Object.freeze({ name: 'NonError', message: 'The thrown value cannot be read.' })
  }
}

function read(error: unknown, causes: number): EventError {
  if (!(error instanceof Error)) return Object.freeze({ name: 'NonError', message: scrub(String(error)) })
  const { name, message, code, stack, cause } = error as { readonly [Field in keyof EventError]: unknown }
  return Object.freeze({
    name: String(name),
    message: scrub(String(message)),
    ...(typeof code === 'string' && { code: scrub(code) }),
    ...(typeof stack === 'string' && { stack: scrub(stack, MAX_STACK_CHARS) }),
    ...(cause !== undefined && causes > 0 && { cause: eventError(cause, causes - 1) }),
  })
}

/** Returns a text shortened to `maxChars`, without anything that looks like a credential. */
export function scrub(text: string, maxChars = MAX_MESSAGE_CHARS): string {
  const scrubbed = text.slice(0, maxChars).replace(SECRETS, '[secret]')
  return text.length > maxChars ? scrubbed.replace(CUT_ADDRESS, '[secret]') : scrubbed
}
