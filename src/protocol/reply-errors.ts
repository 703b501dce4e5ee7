import { isObject, isText, type JsonObject } from './json-values.js'

/** Whether the value of an `error` is empty, as in every reply of some servers. */
export function isEmptyError(error: unknown): boolean {
  if (Array.isArray(error)) return error.length === 0
  return isObject(error) ? Object.keys(error).length === 0 : !isText(error) && error !== true
}

/** Returns the error in a choice, or in its delta or message, unless it is empty. */
export function errorInChoice(choice: unknown): unknown {
  if (!isObject(choice)) return undefined
  return errorIn(choice) ?? errorIn(choice.delta) ?? errorIn(choice.message)
}

function errorIn(place: unknown): unknown {
  return isObject(place) && !isEmptyError(place.error) ? place.error : undefined
}

const FAILED = /^(?:error|failed|failure)$/i
const SAYS_ERROR = /error|exception|fail/i
const SUCCESS = new Set<unknown>([0, 200, '', '0', '200'])
const SAYS_SUCCESS = /^(?:ok|success)/i

/**
 * Whether an event reports a failure in one of the shapes that have no `error`: `{ detail }` of FastAPI, `{ code, message }`,
 * `{ type: 'error' }`, `{ error_message }` of DeepInfra, and `{ base_resp }` of MiniMax. Only the last may have choices.
 */
export function isBareFailure(event: JsonObject): boolean {
  const { base_resp: base, choices } = event
  if (isObject(base) && typeof base.status_code === 'number' && base.status_code !== 0) return true
  if (Array.isArray(choices)) return false
  const { code, detail, error_message: words, errors, message, msg, object, status, type } = event
  if ([object, status, type].some((word) => isText(word) && FAILED.test(word))) return true
  if (isText(words) || isText(detail) || isFilled(detail) || isFilled(errors)) return true
  return (isText(message) || isText(msg)) && (isErrorCode(code) || (isText(type) && SAYS_ERROR.test(type)))
}

function isErrorCode(code: unknown): boolean {
  if (SUCCESS.has(code)) return false
  return typeof code === 'number' || (typeof code === 'string' && !SAYS_SUCCESS.test(code))
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
