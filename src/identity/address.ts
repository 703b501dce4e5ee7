import { isSafeAddress } from '../base/web-address.js'

/**
 * Reads the address of a server that decides who is let in: `https`, or `http` on loopback. Throws a `TypeError` for any
 * other, without its credentials.
 */
export function readAddress(given: unknown, what: string): URL {
  const url = typeof given === 'string' ? URL.parse(given) : given instanceof URL ? new URL(given) : null
  if (url === null) throw new TypeError(`${what} must be a URL, such as 'https://id.example/keys'`)
  if (!isSafeAddress(url))
    throw new TypeError(`${what} must begin with https://; http:// is for loopback only`)
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new TypeError(`${what} must contain no user, password or fragment`)
  }
  return url
}
