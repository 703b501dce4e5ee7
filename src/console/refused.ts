/** A request that is answered with an error of its own status. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly field?: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }
}

export function notFound(message: string, field?: string): Refused {
  return new Refused(404, message, field)
}

/**
 * What administration says of bad input: `grant.amount: …`, `prices.input must be …`. The part before names where it
 * stands. No error of the language's own begins so.
 */
const INPUT_PATTERN =
  /^(?:(?:grant|correction|key|access token|reissue|model|app|route|spend|query|body)(?:\.([\w.]+))?: |((?:amount|after|limit|from|to)\b[\w.]*) must )/

/** What went wrong as an answer, or undefined for a fault that is nobody else's business. */
export function toRefused(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error
  if (!(error instanceof Error)) return undefined
  const [matched, path, name] = INPUT_PATTERN.exec(error.message) ?? []
  const field = path ?? name
  if (error.name === 'Refusal') {
    return new Refused(
      (error as { reason?: string }).reason === 'not-found' ? 404 : 409,
      error.message,
      field,
    )
  }
  return matched !== undefined && (error instanceof TypeError || error instanceof RangeError)
    ? new Refused(400, error.message, field)
    : undefined
}
