/**
 * The fast path of a stream that is passed on: an event with nothing but plain text is neither parsed nor written again.
 * Without it, the plain twin parses each event, counts its text, and writes it as JSON.
 */
const PLAIN =
  /^\{"type":"content_block_delta","index":(\d{1,6}),"delta":\{"type":"text_delta","text":"([ !#-[\]-~]+)"\}\s*\}$/

/** Returns the text of an event and the index of its block, or undefined if the event must be parsed. */
export function plainTextDelta(bytes: string): { readonly index: number; readonly text: string } | undefined {
  const found = PLAIN.exec(bytes)
  return found === null ? undefined : { index: Number(found[1]), text: found[2]! }
}
