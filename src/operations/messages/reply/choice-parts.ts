import type { Members } from '../../../conversation/delta.js'
import { isText, type JsonObject } from '../../../protocol/json-values.js'
import { joinDetails } from '../../../replies/reasoning-details.js'

/** Returns the details of a thinking block from their pieces. Their text is omitted, since the block has it. */
export function detailsOfThinking(pieces: readonly Members[]): JsonObject[] {
  const joined = joinDetails(pieces)
  const texts = joined.filter(({ type }) => type === 'reasoning.text')
  if (texts.length === 1) texts[0]!.text = undefined
  return joined.filter(hasContent)
}

/** Returns the details of hidden thinking from their pieces. */
export function hiddenDetails(pieces: readonly Members[]): JsonObject[] {
  return joinDetails(pieces).filter(hasContent)
}

/** Whether a detail has more than the text that its block shows. */
function hasContent({ data, format, id, signature, summary, text, type }: JsonObject): boolean {
  return type !== undefined && [data, format, id, signature, summary, text].some(isText)
}
