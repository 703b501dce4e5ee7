/**
 * Rules for the addresses to which an OAuth server may send a user back. A refusal must be shown on the server's own
 * page and never redirect.
 */

const MAX_CHARS = 2_000
/** Printable ASCII without spaces. */
const TEXT_PATTERN = /^[\x21-\x7e]+$/
const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']
/** One or more labels, a dot, and a last label that begins with a letter, so that the host is not an address. */
const NAME_PATTERN = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?$/
/** The server adds these parameters. A URI with one of its own could forge an answer. */
const OWN_PARAMETERS: readonly string[] = [
  'code',
  'state',
  'iss',
  'error',
  'error_description',
  'error_uri',
  'response',
]

/** Whether the user may be sent to `asked` by an app that registered `registered`. Both are compared as written. */
export function matchesRedirectUri(registered: string, asked: string): boolean {
  const one = parseRedirectUri(registered)
  const other = parseRedirectUri(asked)
  if (one === undefined || other === undefined) return false
  if (!isLoopback(one) || !isLoopback(other)) return one.href === other.href
  // RFC 8252, 7.3: a program on the user's machine takes any free port.
  return one.hostname === other.hostname && one.pathname === other.pathname && one.search === other.search
}

/** Returns why an app cannot register this redirect URI, in words for its owner. Undefined if it can. */
export function redirectUriFault(text: string): string | undefined {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0].toLowerCase()
  if (scheme !== 'https:' && scheme !== 'http:') {
    return 'must begin with https://, or with http:// on 127.0.0.1, [::1] or localhost'
  }
  const url = parseRedirectUri(text)
  if (url === undefined) {
    return `must be an address in its normal form, as a browser shows it after a visit: no spaces, user, *, # or \\, at most ${MAX_CHARS} characters, https or http on 127.0.0.1, [::1] or localhost`
  }
  if (!isLoopback(url) && !NAME_PATTERN.test(url.hostname)) {
    return 'must have a host name with a dot, in its ASCII form; an address or localhost only with http'
  }
  const own = OWN_PARAMETERS.find((name) => url.searchParams.has(name))
  return own === undefined ? undefined : `must not have a query parameter ${own}, which the server adds`
}

/** Whether a redirect URI is on the user's own machine, where any program can wait for the code. */
export function isLoopbackRedirect(text: string): boolean {
  const url = parseRedirectUri(text)
  return url !== undefined && isLoopback(url)
}

/**
 * Parses a redirect URI. Returns undefined unless its text is the normal form, because parsing alone is too lenient: it
 * strips spaces and tabs, lower-cases hosts, drops default ports and resolves dots. An empty path may lack its slash.
 */
export function parseRedirectUri(text: string): URL | undefined {
  if (text.length > MAX_CHARS || !TEXT_PATTERN.test(text) || /[\\#*]/.test(text)) return undefined
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.href !== text && url.href !== `${text}/`) return undefined
  if (url.username !== '' || url.password !== '') return undefined
  return url.protocol === 'https:' || isLoopback(url) ? url : undefined
}

function isLoopback(url: URL): boolean {
  return url.protocol === 'http:' && LOOPBACK_HOSTS.includes(url.hostname)
}
