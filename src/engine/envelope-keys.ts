import type { EngineOptions } from '../contracts/engine-options.js'
import type { LazyContext } from './asking/lazy-context.js'
import { askStore } from './asking/stores.js'
import { faultyStore } from './failures/store-failures.js'

/** What only private and secret keys have (RFC 7518 section 6), whoever made the list. */
const PRIVATE_MEMBERS = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth']

/** The public keys to seal provider keys with. A list that holds anything but public keys is not published. */
export async function publishedKeys(options: EngineOptions, context: LazyContext): Promise<object> {
  const published = await askStore('envelopes', options, context, () => options.envelopes?.publicKeys?.())
  const keys: unknown = published?.keys
  if (Array.isArray(keys) && keys.every(isPublicKey)) return { keys }
  const why = 'publicKeys() did not return { keys }, a list of public keys'
  throw faultyStore('envelopes', options, context.requestId, why)
}

function isPublicKey(key: unknown): boolean {
  if (typeof key !== 'object' || key === null) return false
  return !PRIVATE_MEMBERS.some((member) => Object.hasOwn(key, member))
}
