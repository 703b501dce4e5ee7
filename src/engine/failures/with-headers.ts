import { CompatError, isCompatError } from '../../base/errors.js'

/**
 * Returns the error with additional headers, which do not replace its own. Returns anything but a `CompatError`
 * unchanged.
 */
export function withHeaders(error: unknown, headers: Readonly<Record<string, string>> | undefined): unknown {
  if (headers === undefined || !isCompatError(error)) return error
  const { code, message, param } = error
  return new CompatError(code, message, {
    ...error,
    param: param ?? undefined,
    headers: { ...headers, ...error.headers },
  })
}
