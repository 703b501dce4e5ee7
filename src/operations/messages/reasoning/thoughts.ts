import type { Maker, ThoughtPiece } from '../../../conversation/conversation.js'
import { isClaude, isEncryptedByOpenAi, providerDigest, readDetail } from '../../../conversation/thoughts.js'
import { isWithin, parseText } from '../../../protocol/inner-json.js'
import { MAX_VALUES } from '../../../protocol/json-scan.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { type Member, text } from '../../../protocol/request-fields/reading.js'

/**
 * The author of a block's thoughts. Claude signs its own, on every platform alike, and gets them back unchanged.
 * Thoughts of all other models are marked with their provider, and only that provider gets them back.
 */
export interface Thinker {
  readonly provider: string
  /** The provider's name of the model. */
  readonly model: string
}

const MARK = 'cr1'
/** All signatures of a request together may have ten times as many values. */
const MAX_MARKED_VALUES = MAX_VALUES / 10
const MARKED = /^cr1\.([\w-]{11})\.([ds])(.*)$/s

/** Returns the signature for reasoning from a chat provider, with its details if there are any. */
export function markDetails(details: readonly JsonObject[], provider: string): string {
  const json = details.length === 0 ? '' : JSON.stringify(details)
  // A request could not send more back.
  const kept = isWithin(json, MAX_MARKED_VALUES) ? Buffer.from(json).toString('base64url') : ''
  return `${MARK}.${providerDigest(provider)}.d${kept}`
}

/** Reads the signature of a block. JSON in it that is beyond the limits is a fault. */
export const signature: Member = (value, place, reading) => {
  const [, , kind, rest = ''] = typeof value === 'string' ? (MARKED.exec(value) ?? []) : []
  if (kind === 'd') reading.checkInnerJson(decoded(rest), place)
  return text(value, place, reading)
}

/** Returns the client's form of a signature from a provider of this API. */
export function markSignature(signature: string, { model, provider }: Thinker): string {
  return isClaude(model) ? signature : `${MARK}.${providerDigest(provider)}.s${signature}`
}

/** What a client sends back with a thought, for its maker alone: a signature of this API, or reasoning from a chat provider. */
export interface Sealed {
  readonly maker: Maker
  /** Undefined if the thought came from a chat provider. */
  readonly signature?: string
  /** Encoded. See {@link readPieces}. */
  readonly pieces?: string
}

const OF_CLAUDE: Maker = { isClaude: true }

/** Reads the signature of a block. Undefined if nobody can use it. */
export function readSealed(signature: string): Sealed | undefined {
  const marked = MARKED.exec(signature)
  if (marked === null) {
    return signature === '' || isEncryptedByOpenAi(signature) ? undefined : { maker: OF_CLAUDE, signature }
  }
  const [, digest = '', kind, rest = ''] = marked
  return kind === 's'
    ? { maker: { providerDigest: digest, isClaude: false }, signature: rest }
    : { maker: { providerDigest: digest }, pieces: rest }
}

/** Reads reasoning from a chat provider. Members that no provider signs are omitted, since a client could add them. */
export function readPieces(encoded: string): readonly ThoughtPiece[] {
  if (encoded === '') return []
  const details = parseText(decoded(encoded))
  return Array.isArray(details) ? details.filter(isObject).map(readDetail) : []
}

function decoded(encoded: string): string {
  return Buffer.from(encoded, 'base64url').toString()
}
