/**
 * The `code` of an error about a value that a caller gave. It distinguishes the caller's mistakes from faults, because each
 * entry of the package contains a copy of these functions.
 */
export const INVALID_INPUT = 'invalid_input'

/** The place of a value in a caller's input. A value that was given by itself has only a field. */
export interface InputPlace {
  /** What the caller gave, such as `limit`. */
  readonly of?: string | undefined
  /** The path of the value in it, such as `amount` or `allowedModels.3`. Absent for the whole of it. */
  readonly field?: string | undefined
}

/** The members of such an error, with what a host needs to answer 400 if the value came from a request. */
export interface InputFault extends InputPlace {
  readonly code: typeof INVALID_INPUT
  /** The fault, as words that follow the name of the field. */
  readonly problem: string
}

/** Returns the error for a value that is missing, or of the wrong kind or form. */
export function invalidInput(place: InputPlace, problem: string): TypeError & InputFault {
  return Object.assign(new TypeError(problemAt(place, problem)), faultOf(place, problem))
}

/** Returns the error for a number, an amount or a time beyond its bounds. */
export function outOfRange(place: InputPlace, problem: string): RangeError & InputFault {
  return Object.assign(new RangeError(problemAt(place, problem)), faultOf(place, problem))
}

/** Whether a value is such an error, even from another copy of this module. */
export function isInputFault(value: unknown): value is Error & InputFault {
  return value instanceof Error && (value as { code?: unknown }).code === INVALID_INPUT
}

/** Returns the problem behind the names of its place. */
export function problemAt({ field, of }: InputPlace, problem: string): string {
  const place = [of, field].filter((name) => name !== undefined).join('.')
  return place === '' ? problem : `${place}: ${problem}`
}

function faultOf({ field, of }: InputPlace, problem: string): InputFault {
  return { code: INVALID_INPUT, of, field, problem }
}
