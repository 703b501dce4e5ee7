import { type InputPlace, isInputFault } from '../../base/invalid-input.js'
import { isRefusal } from '../../base/refusal.js'

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

/** Converts an error into a reply. Returns undefined if clients must not see the error. */
export function toHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error
  if (isInputFault(error)) return new HttpError(400, sentenceOf(error), error.field)
  if (!isRefusal(error)) return undefined
  return new HttpError(error.reason === 'not-found' ? 404 : 409, sentenceOf(error), error.field)
}

/** The API's name of the field, then the problem. */
function sentenceOf({ field, of, problem }: InputPlace & { readonly problem: string }): string {
  const subject = field ?? (of === undefined ? undefined : `The ${GIVEN.has(of) ? 'request' : of}`)
  if (subject === undefined) return problem
  return `${subject}${/^(?:must|is|has|each) /.test(problem) ? ' ' : ': '}${problem}`
}

/** What the API calls the parts of a request. */
const GIVEN: ReadonlySet<string> = new Set(['query', 'body'])
