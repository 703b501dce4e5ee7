import type { ProviderCall } from '../../contracts/providers.js'
import { isProviderError } from '../../errors.js'

/** What of a request is left out for a provider that refuses it: it is the router's doing, not the client's wish. */
export interface Omissions {
  /** To be told the usage of a stream. */
  readonly usage: boolean
  /** The reasoning of earlier replies, which clients send back under the names that the router gave it. */
  readonly reasoning: boolean
}

export const NOTHING_OMITTED: Omissions = { usage: false, reasoning: false }

export const REASONING_FIELDS = ['reasoning', 'reasoning_content', 'reasoning_details'] as const

const SAYS_USAGE = /stream_options/
/** As a place in the request, or in Groq's words; not where a provider misses it. */
const SAYS_REASONING = /\bmessages?[.[]\S*reasoning|'reasoning\w*' is unsupported/

/** What to leave out after a failure that came of it, beside what was left out; undefined where it came of nothing such. */
export function omitMore(failure: unknown, call: ProviderCall, omitted: Omissions): Omissions | undefined {
  if (!isProviderError(failure) || failure.reason !== 'status') return undefined
  const { param, providerMessage, status } = failure
  if (status !== 400 && status !== 422) return undefined
  const said = `${param ?? ''} ${providerMessage ?? ''}`
  if (call.stream && !omitted.usage && SAYS_USAGE.test(said)) return { ...omitted, usage: true }
  if (!omitted.reasoning && SAYS_REASONING.test(said) && hasReasoning(call)) {
    return { ...omitted, reasoning: true }
  }
  return undefined
}

/** What either leaves out. */
export function omitBoth(one: Omissions, other: Omissions = one): Omissions {
  return { usage: one.usage || other.usage, reasoning: one.reasoning || other.reasoning }
}

function hasReasoning({ request }: ProviderCall): boolean {
  return request.messages.some((message) => REASONING_FIELDS.some((field) => field in message))
}
