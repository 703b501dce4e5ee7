import { isObject, isText, type JsonObject, textOf } from '../protocol/json-values.js'
import { scalarText } from '../protocol/scalars.js'

/** The objects around Bedrock's reasoning that some gateways pass on. */
const WRAPPERS = ['reasoningContent', 'reasoningText'] as const
/** The members of a reasoning object or part that contain its text, or a list of further parts. */
const TEXT_MEMBERS = ['text', 'content', 'thinking', 'reasoning', 'reasoning_content', 'summary', ...WRAPPERS]
/** A client's own limit is lower. */
const MAX_LEVELS = 8

/** Returns the text of a model's reasoning in any shape: an object, a list of parts, a summary. */
export function reasoningTextIn(value: unknown, levels = MAX_LEVELS): string {
  const text = scalarText(value)
  if (text !== undefined) return text
  if (levels === 0) return ''
  if (Array.isArray(value)) return value.map((item) => reasoningTextIn(item, levels - 1)).join('')
  if (!isObject(value)) return ''
  // Two of the names often contain the same text.
  for (const name of TEXT_MEMBERS) {
    const found = reasoningTextIn(value[name], levels - 1)
    if (found !== '') return found
  }
  return ''
}

/** Returns the part of reasoning that its provider needs back, if it is signed or encrypted. */
export function signedDetail(reasoning: JsonObject, text: string): JsonObject | undefined {
  for (const name of WRAPPERS) {
    const wrapped = reasoning[name]
    if (isObject(wrapped)) return signedDetail(wrapped, text)
  }
  const { encrypted_content: encrypted, format, id, signature } = reasoning
  const named = { ...(isText(id) && { id }), ...(isText(format) && { format }) }
  const data = textOf(encrypted) ?? (text === '' ? textOf(reasoning.data) : undefined)
  if (data !== undefined) return { type: 'reasoning.encrypted', data, ...named }
  return isText(signature) ? { type: 'reasoning.text', text, signature, ...named } : undefined
}

/** Returns the text in reasoning details of types that have a text. */
export function textOfDetails(details: unknown): string {
  if (!Array.isArray(details)) return ''
  let text = ''
  for (const detail of details) {
    if (!isObject(detail)) continue
    const { summary, text: own } = detail
    text += textOf(own) ?? textOf(summary) ?? ''
  }
  return text
}
