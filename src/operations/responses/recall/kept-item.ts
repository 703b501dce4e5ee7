import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { sealReasoning } from '../request/sealed-reasoning.js'

/** The parts of an item that are not in its reply, or not yet. */
export interface ItemParts {
  /** The content of a message so far. */
  readonly content: unknown
  /** The details of complete reasoning. */
  readonly details: readonly JsonObject[] | undefined
  readonly provider: string
}

/**
 * Returns an item as a request would contain it. Undefined for items that no request can contain: images, calls that
 * were cut off, and reasoning that its provider cannot verify.
 */
export function toKept(item: JsonObject, { content, details, provider }: ItemParts): JsonObject | undefined {
  switch (item.type) {
    case 'message':
      return { type: 'message', role: item.role, content: toContent(content), phase: item.phase }
    case 'reasoning':
      if (details === undefined || details.length === 0) return undefined
      return {
        type: 'reasoning',
        summary: item.summary,
        encrypted_content: sealReasoning({ details, provider }),
      }
    case 'function_call':
    case 'custom_tool_call':
    case 'tool_search_call':
      if (item.status !== 'completed') return undefined
      return Object.assign({}, item, { id: undefined, status: undefined })
    default:
      return undefined
  }
}

function toContent(parts: unknown): readonly JsonObject[] {
  return (Array.isArray(parts) ? parts : [])
    .filter(isObject)
    .map(({ refusal, text, type }) => (type === 'refusal' ? { type, refusal } : { type, text }))
}
