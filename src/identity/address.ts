import { isSafeAddress } from '../base/web-address.js'

/**
 * Reads the address of a server that decides who is admitted: `https`, or `http` on loopback. Throws a `TypeError` for
 * any other, without its credentials.
 */
export function readAddress(given: unknown, what: string): URL {
  const text = given instanceof URL ? given.href : given
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw new TypeError(`${what} must be a URL, such as 'https://id.example/keys'`)
  }
  const url = new URL(text)
  if (!isSafeAddress(url))
    throw new TypeError(`${what} must begin with https://; http:// is for loopback only`)
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new TypeError(`${what} must contain no user, password or fragment`)
  }
  return url
}
