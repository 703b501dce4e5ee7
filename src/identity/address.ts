import { z } from 'zod'
import { isSafeAddress } from '../base/web-address.js'

/** The address of a server that decides who is let in: `https`, or `http` on loopback. */
export const addressSchema = z.custom<string | URL>((given) => describeAddress(given) === undefined, {
  error: ({ input }) => describeAddress(input),
})

function describeAddress(given: unknown): string | undefined {
  const text = given instanceof URL ? given.href : given
  if (typeof text !== 'string' || !URL.canParse(text)) {
    return "must be a URL, such as 'https://id.example/keys'"
  }
  const url = new URL(text)
  if (!isSafeAddress(url)) return 'must begin with https://; http:// is for loopback only'
  const isPlain = url.username === '' && url.password === '' && url.hash === ''
  return isPlain ? undefined : 'must contain no user, password or fragment'
}
