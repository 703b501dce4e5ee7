import { createHash } from 'node:crypto'
import { isWithin, parseText } from '../../../protocol/inner-json.js'
import { MAX_VALUES } from '../../../protocol/json-scan.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import { type Member, text } from '../../../protocol/request-fields/reading.js'

/**
 * Whose thoughts a block contains. Claude signs its own, on every platform alike, and gets them back as they are. Those of
 * all others are marked with their provider, which alone gets them back.
 */
export interface Thinker {
  readonly provider: string
  /** The provider's name of the model. */
  readonly model: string
}

/** The members of a block that its client sends back: of reasoning through chat, or of a signature of the API. */
export interface Thought {
  /** In OpenRouter's shape, without the text of the block itself. Undefined if the block came in the terms of the API. */
  readonly details: readonly JsonObject[] | undefined
  readonly signature: string
}

const MARK = 'cr1'
/** A request may have ten times as many values in all of its signatures. */
const MAX_MARKED_VALUES = MAX_VALUES / 10
const MARKED = /^cr1\.([\w-]{11})\.([ds])(.*)$/s

/** Whether a model is Claude, by its name. */
export function isClaude(model: string): boolean {
  return model.includes('claude')
}

/** The mark of a provider, which does not show its name to callers. */
function markOf(provider: string): string {
  return createHash('sha256').update(provider).digest('base64url').slice(0, 11)
}

/** Returns the signature for reasoning that came through chat, with its details if there are any. */
export function markDetails(details: readonly JsonObject[], provider: string): string {
  const json = details.length === 0 ? '' : JSON.stringify(details)
  // A request could not send more back.
  const kept = isWithin(json, MAX_MARKED_VALUES) ? Buffer.from(json).toString('base64url') : ''
  return `${MARK}.${markOf(provider)}.d${kept}`
}

/** Reads the signature of a block: JSON beyond the limits in it is a fault. */
export const signature: Member = (value, place, reading) => {
  const [, , kind, rest = ''] = typeof value === 'string' ? (MARKED.exec(value) ?? []) : []
  if (kind === 'd') reading.checkInnerJson(decoded(rest), place)
  return text(value, place, reading)
}

/** Returns the signature for a client of one that came in the terms of the API. */
export function markSignature(signature: string, { model, provider }: Thinker): string {
  return isClaude(model) ? signature : `${MARK}.${markOf(provider)}.s${signature}`
}

/** Returns the thought if this thinker may get it back, otherwise undefined. */
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

/** The members of a detail that providers sign. A client could have put others there. */
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
