import type { NativeEvent } from '../../conversation/delta.js'
import { fromLatin1 } from '../../protocol/latin1.js'

/** An event with nothing but a piece of text, of thinking or of a call's input. */
export interface PlainDelta {
  /** The type of its block. */
  readonly kind: 'text' | 'thinking' | 'tool_use'
  readonly text: string
  readonly event: NativeEvent
}

/**
 * The fast path of a relayed stream. Without it, bursts take 1.8 times the CPU (docs/performance.md). An event with
 * nothing but a piece of text is not parsed, and clients of the same API get it as it came. The plain twin parses each
 * event, and its text is written as JSON. Spaces before the last bracket are kept, since Anthropic pads events with them.
 */
const PLAIN =
  /^\{"type":"content_block_delta","index":(0|[1-9]\d{0,5}),"delta":\{"type":"(text_delta","text|thinking_delta","thinking|input_json_delta","partial_json)":"(.+)"\} *\}$/
/** The type of the block of each such delta. */
const BLOCKS: Readonly<Record<string, PlainDelta['kind']>> = {
  'text_delta","text': 'text',
  'thinking_delta","thinking': 'thinking',
  'input_json_delta","partial_json': 'tool_use',
}
/** JSON that is the same as its text, and as its text in latin1. */
const SAME = /^[ !#-[\]-~]+$/

/** Returns the piece of text in an event. Undefined if the event must be parsed. */
export function plainDelta(bytes: string): PlainDelta | undefined {
  const found = PLAIN.exec(bytes)
  if (found === null) return undefined
  const json = found[3]!
  const text = SAME.test(json) ? json : textOf(fromLatin1(json))
  if (text === undefined) return undefined
  return { kind: BLOCKS[found[2]!]!, text, event: { index: Number(found[1]), bytes } }
}

/** Returns the text of JSON that is written as the plain twin writes it. */
function textOf(json: string): string | undefined {
  // It may stand for bytes that are not UTF-8.
  if (json.includes('\ufffd')) return undefined
  const string = `"${json}"`
  try {
    const text: unknown = JSON.parse(string)
    return typeof text === 'string' && JSON.stringify(text) === string ? text : undefined
  } catch {
    return undefined
  }
}
