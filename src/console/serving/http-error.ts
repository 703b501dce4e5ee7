import { INVALID_INPUT } from '../../base/invalid-input.js'

/** An error that decides the status of the reply. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly field?: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }
}

export function notFound(message: string, field?: string): HttpError {
  return new HttpError(404, message, field)
}

/** The admin functions' format for a fault in a member of their input: `limit.amount: must be …`. */
const GIVEN_PATTERN = /^([a-zA-Z][a-zA-Z ]*)(?:\.([^\s:]+))?: (.+)$/s
/** Their format for a fault in a single value: `limit must be …`. */
const NAMED_PATTERN = /^([a-z]\w*(?:\.\w+)*) (?:must|is beyond)\b/

/** The names of {@link GIVEN_PATTERN} that are fields themselves. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['account', 'account'],
  ['logo', 'logo'],
  ['hash', 'hash'],
  ['decision', 'decision'],
  ['credential id', 'credentialId'],
  ['model id', 'id'],
  ['app id', 'id'],
  ['route id', 'id'],
  ['entry id', 'entryId'],
  ['id of a connected app', 'connectedAppId'],
  ['connection id', 'connectionId'],
])

/** Converts an error into a reply. Returns undefined if clients must not see the error. */
export function toHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error
  if (!(error instanceof Error)) return undefined
  const { message, field } = readFault(error.message)
  if (error.name === 'Refusal') {
    return new HttpError((error as { reason?: string }).reason === 'not-found' ? 404 : 409, message, field)
  }
  return (error as { code?: unknown }).code === INVALID_INPUT ? new HttpError(400, message, field) : undefined
}

/** Rewords the error for the API: the API's name of the field first, then the fault. */
function readFault(text: string): { message: string; field?: string } {
  const [, given, path, fault] = GIVEN_PATTERN.exec(text) ?? []
  if (given === undefined || fault === undefined) {
    const field = NAMED_PATTERN.exec(text)?.[1]
    return field === undefined ? { message: text } : { message: text, field }
  }
  const field = path ?? FIELDS.get(given)
  const isSentence = /^(?:must|is|has|each) /.test(fault)
  if (field !== undefined) return { message: `${field}${isSentence ? ' ' : ': '}${fault}`, field }
  const what = given === 'query' || given === 'body' ? 'request' : given
  return { message: `The ${what}${isSentence ? ' ' : ': '}${fault}` }
}
