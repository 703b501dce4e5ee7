import type { Members } from '../conversation/delta.js'
import { isText, type JsonObject } from '../protocol/json-values.js'

/**
 * Joins the pieces of reasoning details from a stream. Pieces of one detail have the same type, index, id and format.
 * Nothing follows the signature of a text.
 */
export function joinDetails(pieces: readonly Members[]): JsonObject[] {
  const joined: JsonObject[] = []
  for (const piece of pieces) {
    const last = joined.at(-1)
    if (last !== undefined && isMore(last, piece)) append(last, piece)
    else joined.push(Object.assign({}, piece))
  }
  return joined
}

function isMore(last: Members, piece: Members): boolean {
  if (!isText(piece.type) || piece.type === 'reasoning.encrypted' || isText(last.signature)) return false
  return (
    last.type === piece.type &&
    last.index === piece.index &&
    agree(last.id, piece.id) &&
    agree(last.format, piece.format)
  )
}

/** Providers may include a member in only one piece. */
function agree(one: unknown, other: unknown): boolean {
  return (one ?? other) === (other ?? one)
}

const GROWING: ReadonlySet<string> = new Set(['text', 'summary'])

function append(known: JsonObject, piece: Members): void {
  for (const name of Object.keys(piece)) {
    const more = piece[name]
    if (more === null || more === undefined) continue
    const had = known[name]
    known[name] = GROWING.has(name) && isText(had) && isText(more) ? had + more : more
  }
}
