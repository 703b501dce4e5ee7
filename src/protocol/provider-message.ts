import { isIP } from 'node:net'
import { holdsSecret } from './secret-search.js'
import { BIDI_OR_INVISIBLE, CONTROL, cut, LONE_SURROGATE } from './text.js'

export interface ProviderMessageContext {
  /** The credentials of this call, as they are sent to the provider. */
  readonly secrets: readonly string[]
  /** The provider's name of the model, and the client's. */
  readonly upstreamModel: string
  readonly modelKey: string
}

const RAW_CHARS = 4_096
const MESSAGE_CHARS = 500
const REMOVED = '[redacted]'

/** Includes characters that could hide a message in the bytes: tags and variation selectors. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu
// Each repetition is bounded, or its class shares no character with what follows, so each pattern takes linear time.
const URL_LIKE = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]*/gi
const EMAIL_LIKE = /[^\s@"'<>]{1,64}@[^\s@"'<>]{1,255}/g
const IPV4_LIKE = /\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?/g
const IPV6_LIKE = /[0-9a-f:.]+/gi
const LOCALHOST = /\blocalhost\b(?::\d{1,5})?/gi
const HOST_AND_PORT = /\b[a-z][a-z0-9-]{0,62}:\d{4,5}\b/gi
const DOTTED_NAME = /[\w-]{1,63}(?:\.[\w-]{1,63}){1,12}(?::\d{1,5})?/g
const PREFIXED_KEY =
  /\b(?:(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat|r8|pplx|nvapi|fw|tgp|csk)[-_]|AKIA|ASIA|AIza|ya29\.)[\w*.-]{4,}/gi
const BEARER = /\bbearer\s{1,4}[^\s"',;]{8,}/gi
const NAMED_SECRET =
  /(api[-_ ]?key|secret|password|authorization|(?:key|token)(?==))(["']?\s{0,4}(?:provided\s{0,4})?[:=]\s{0,4}["']?)(?:(?:basic|bearer)\s{1,4})?[^\s"',;]+/gi
const TOKEN_LIKE = /[\w+/=*-]{20,}/g
/** A URL, dotted name or long token, whichever begins first. */
const ADDRESS_OR_TOKEN =
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]*|[\w-]{1,63}(?:\.[\w-]{1,63}){1,12}(?::\d{1,5})?|[\w+/=*-]{20,}/gi
const URL_PARTS = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)/i
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i
/** Names of hosts are in lower case. A JSON web token, which has dots too, is not. */
const HOST_NAME = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?$/

/** Request fields. A dotted name that starts with one of them is a path in the request, not a host. */
const FIELD_NAMES = new Set(
  'generation_config messages message tools tool functions function input inputs body content contents system text parameters response_format tool_choice stream_options audio reasoning metadata properties items schema request choices usage'.split(
    ' ',
  ),
)

/**
 * Cleans a provider's own words for the client: at most 500 characters, without anything that looks like a key, a URL, a
 * host or an address, and without control and invisible characters. The provider's name of the model becomes the model
 * key. If the words contain a secret of this call, in any spelling, the result is empty.
 *
 * Only the first 4 KiB are read. It may remove words that only look like a host or a key.
 */
export function cleanProviderMessage(text: string, context: ProviderMessageContext): string {
  const start = head(text)
  if (holdsSecret(start, context.secrets)) return ''
  const message = withoutInvisible(start).replace(URL_LIKE, REMOVED).replace(EMAIL_LIKE, REMOVED)
  // The model's name may itself look like a key or a host, so those are removed only from the text around it.
  const pieces = splitAtName(message, context.upstreamModel).map(removeKeysAndHosts)
  return tidy(pieces.join(context.modelKey))
}

/**
 * Cleans a provider's own words, or a connection error, for the host: as for the client, but keeps hosts, addresses and
 * the provider's name of the model. URLs lose their user, password, query and fragment.
 */
export function cleanForHost(text: string, context: ProviderMessageContext): string {
  const start = head(text)
  if (holdsSecret(start, context.secrets)) return ''
  // URLs first, since the name may be part of one.
  const message = withoutInvisible(start).replace(URL_LIKE, bareUrl)
  const pieces = splitAtName(message, context.upstreamModel).map((piece) =>
    removeNamedKeys(piece)
      .replace(EMAIL_LIKE, REMOVED)
      .replace(ADDRESS_OR_TOKEN, (found) => (isAddressOfHost(found) ? found : removeTokens(found))),
  )
  return tidy(pieces.join(context.upstreamModel))
}

function withoutInvisible(text: string): string {
  return text.replace(CONTROL, ' ').replace(BIDI_OR_INVISIBLE, '').replace(INVISIBLE, '')
}

function tidy(text: string): string {
  // Surrogates come last, because a pattern may have ended inside a pair.
  const tidied = text
    .replace(LONE_SURROGATE, '\ufffd')
    .replace(/\s{2,}/g, ' ')
    .trim()
  return cut(tidied, MESSAGE_CHARS)
}

/** Returns a URL, or text that looks like one, without user, password, query and fragment. */
export function bareUrl(url: string): string {
  const [, scheme = '', authority = '', path = ''] = URL_PARTS.exec(url) ?? []
  return scheme + authority.slice(authority.lastIndexOf('@') + 1) + path
}

function isAddressOfHost(found: string): boolean {
  return URL_START.test(found) || HOST_NAME.test(found)
}

/** Returns the first 4 KiB, without a last word that may have been cut. */
export function head(text: string): string {
  if (text.length <= RAW_CHARS) return text
  let end = RAW_CHARS
  while (end > 0 && isVisibleAscii(text.charCodeAt(end - 1))) end -= 1
  return text.slice(0, end)
}

function isVisibleAscii(code: number): boolean {
  return code > 0x20 && code < 0x7f
}

function removeNamedKeys(text: string): string {
  return text.replace(NAMED_SECRET, `$1$2${REMOVED}`).replace(BEARER, REMOVED).replace(PREFIXED_KEY, REMOVED)
}

function removeTokens(text: string): string {
  return text.replace(TOKEN_LIKE, (token) => (/\d/.test(token) && /[a-z]/i.test(token) ? REMOVED : token))
}

function removeKeysAndHosts(text: string): string {
  return removeTokens(removeNamedKeys(text))
    .replace(IPV4_LIKE, REMOVED)
    .replace(IPV6_LIKE, (run) => (isAddress(run) ? REMOVED : run))
    .replace(LOCALHOST, REMOVED)
    .replace(DOTTED_NAME, (name) => (isHost(name) ? REMOVED : name))
    .replace(HOST_AND_PORT, REMOVED)
}

function isAddress(run: string): boolean {
  return isIP(run) !== 0 || isIP(run.replace(/[:.]{1,8}$/, '')) !== 0 || isIP(run.replace(/^[:.]/, '')) !== 0
}

function isHost(name: string): boolean {
  const labels = name.replace(/:\d+$/, '').split('.')
  return /^[a-z]{2,}$/i.test(labels.at(-1)!) && !FIELD_NAMES.has(labels[0]!.toLowerCase())
}

/** Splits a text at each `name` that is a separate word. */
function splitAtName(text: string, name: string): string[] {
  const pieces: string[] = []
  let start = 0
  for (let at = name === '' ? -1 : text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) {
    const end = at + name.length
    if (/[A-Za-z0-9]/.test(text[at - 1] ?? '') || /[A-Za-z0-9]/.test(text[end] ?? '')) continue
    pieces.push(text.slice(start, at))
    start = end
  }
  pieces.push(text.slice(start))
  return pieces
}
