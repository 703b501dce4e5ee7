const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Whether nobody in between can read or change data sent to an address: it uses `https`, or `http` on loopback. */
export function isSafeAddress({ hostname, protocol }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK_HOST.test(hostname))
}

/** Whether a text is the origin of a page at such an address, as browsers write it: no path, no default port, lower case. */
export function isWebOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return url.origin === text && isSafeAddress(url)
}
