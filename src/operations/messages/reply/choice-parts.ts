import { isText, type JsonObject } from '../../../protocol/json-values.js'

/**
 * Joins the pieces of reasoning details from a stream. Pieces of one detail have the same type, id and index.
 *
 * @param isShown whether their text is that of a block of thinking, so that the only text among them can be left out
 */
export function joinDetails(pieces: readonly JsonObject[], isShown: boolean): JsonObject[] {
  const joined: JsonObject[] = []
  for (const piece of pieces) {
    const last = joined.at(-1)
    if (last !== undefined && isText(piece.type) && isSame(last, piece)) append(last, piece)
    else joined.push(Object.assign({}, piece))
  }
  const texts = joined.filter(({ type }) => type === 'reasoning.text')
  if (isShown && texts.length === 1) texts[0]!.text = undefined
  // Text alone is what the block shows.
  return joined.filter(({ data, format, id, signature, summary, text, type }) =>
    [data, format, id, signature, summary, text].some(isText) ? type !== undefined : false,
  )
}

function isSame(one: JsonObject, other: JsonObject): boolean {
  if (one.type === 'reasoning.encrypted') return false
  return one.type === other.type && one.index === other.index && (one.id ?? other.id) === (other.id ?? one.id)
}

const GROWING = ['text', 'summary'] as const

function append(known: JsonObject, piece: JsonObject): void {
  for (const name of Object.keys(piece)) {
    const more = piece[name]
    if (more === null || more === undefined) continue
    const isGrowing = (GROWING as readonly string[]).includes(name)
    known[name] = isGrowing && isText(known[name]) && isText(more) ? known[name] + more : more
  }
}
