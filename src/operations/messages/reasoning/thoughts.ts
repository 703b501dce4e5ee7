import { createHash } from 'node:crypto'
import { isWithin, parseText } from '../../../protocol/inner-json.js'
import { MAX_VALUES } from '../../../protocol/json-scan.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
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

/** The members of a block that its client sends back: reasoning from a chat provider, or a signature of this API. */
export interface Thought {
  /**
   * In OpenRouter's shape, without the text of the block itself. Undefined if the block came from a provider of this
   * API.
   */
  readonly details: readonly JsonObject[] | undefined
  readonly signature: string
}

const MARK = 'cr1'
/** All signatures of a request together may have ten times as many values. */
const MAX_MARKED_VALUES = MAX_VALUES / 10
const MARKED = /^cr1\.([\w-]{11})\.([ds])(.*)$/s

/** Whether a model is Claude, by its name. */
export function isClaude(model: string): boolean {
  return model.includes('claude')
}

/** Returns the mark of a provider, which does not reveal its name to callers. */
function markOf(provider: string): string {
  return createHash('sha256').update(provider).digest('base64url').slice(0, 11)
}

/** Returns the signature for reasoning from a chat provider, with its details if there are any. */
export function markDetails(details: readonly JsonObject[], provider: string): string {
  const json = details.length === 0 ? '' : JSON.stringify(details)
  // A request could not send more back.
  const kept = isWithin(json, MAX_MARKED_VALUES) ? Buffer.from(json).toString('base64url') : ''
  return `${MARK}.${markOf(provider)}.d${kept}`
}

/** Reads the signature of a block. JSON in it that is beyond the limits is a fault. */
export const signature: Member = (value, place, reading) => {
  const [, , kind, rest = ''] = typeof value === 'string' ? (MARKED.exec(value) ?? []) : []
  if (kind === 'd') reading.checkInnerJson(decoded(rest), place)
  return text(value, place, reading)
}

/** Returns the client's form of a signature from a provider of this API. */
export function markSignature(signature: string, { model, provider }: Thinker): string {
  return isClaude(model) ? signature : `${MARK}.${markOf(provider)}.s${signature}`
}

/** Returns the thought if this author may get it back. Otherwise undefined. */
export function readThought(signature: string, { model, provider }: Thinker): Thought | undefined {
  const marked = MARKED.exec(signature)
  if (marked === null) {
    return isClaude(model) && signature !== '' ? { details: undefined, signature } : undefined
  }
  const [, mark, kind, rest = ''] = marked
  if (mark !== markOf(provider)) return undefined
  if (kind === 's') return isClaude(model) ? undefined : { details: undefined, signature: rest }
  return { details: readDetails(rest), signature: '' }
}

/** The members of a detail that providers sign. A client could have added others. */
const TEXT_MEMBERS = ['type', 'id', 'format', 'text', 'summary', 'data', 'signature'] as const

function readDetails(encoded: string): readonly JsonObject[] {
  if (encoded === '') return []
  const details = parseText(decoded(encoded))
  return Array.isArray(details) ? details.filter(isObject).map(readDetail) : []
}

function decoded(encoded: string): string {
  return Buffer.from(encoded, 'base64url').toString()
}

function readDetail(given: JsonObject): JsonObject {
  const detail: JsonObject = {}
  for (const name of TEXT_MEMBERS) if (isText(given[name])) detail[name] = given[name]
  if (typeof given.index === 'number') detail.index = given.index
  return detail
}
