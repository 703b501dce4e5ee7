import { createHmac, timingSafeEqual } from 'node:crypto'

/** Signs a value for one purpose with the first secret. */
export function seal(secrets: readonly string[], purpose: string, value: unknown): string {
  return mac(secrets[0]!, purpose, value)
}

/** Whether {@link seal} returned this text for the value, with any of the secrets. */
export function isSealed(
  secrets: readonly string[],
  purpose: string,
  value: unknown,
  text: string | null,
): boolean {
  if (text === null) return false
  const given = Buffer.from(text)
  return secrets.some((secret) => {
    const expected = Buffer.from(mac(secret, purpose, value))
    return expected.length === given.length && timingSafeEqual(expected, given)
  })
}

function mac(secret: string, purpose: string, value: unknown): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([purpose, value]))
    .digest('base64url')
}
