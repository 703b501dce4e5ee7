import { CompatError } from '../../../base/errors.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { RequestReading } from '../../../protocol/request-fields/reading.js'
import { toPlainItems } from '../request/plain-items.js'
import { isReference } from '../request/read-items.js'
import { type AskedResponse, checkedMessages } from '../request/read-request.js'
import { sealedReasoning } from '../request/sealed-reasoning.js'
import type { CallersItems } from './recent-items.js'

/** A request whose references to earlier items were replaced by the items. */
export interface Resolved {
  readonly asked: AskedResponse
  /** The members that were left out. */
  readonly leftOut: readonly string[]
}

const GONE =
  'names an earlier item by its id, and no reply is stored here for long; send the item itself (in the AI SDK, set providerOptions.openai.store to false)'
const CALLS = new Set<unknown>(['function_call', 'custom_tool_call', 'tool_search_call'])
/** The beginnings of ids of reasoning and of images. Nobody needs either to go on. */
const MISSABLE_ID = /^(?:rs|ig)_/

/**
 * Replaces references to earlier items by the items. A further reference to the same item has no effect. Throws a
 * `CompatError` of status 400 if an item is gone without which the conversation cannot go on, and of status 413 if the
 * items are larger than `maxBytes` together.
 *
 * @param recent the recent items of the caller, undefined if none are kept
 */
export function resolveReferences(
  asked: AskedResponse,
  recent: CallersItems | undefined,
  maxBytes: number,
): Resolved {
  const { forward, items: given, settings, thoughts } = asked
  if (!given.some(isReference)) return { asked, leftOut: [] }
  const reading = new RequestReading()
  const missable = missableReferences(given)
  const known = new Set<string>()
  const items: JsonObject[] = []
  let bytes = 0
  for (const [position, item] of given.entries()) {
    if (!isReference(item)) {
      items.push(item)
      continue
    }
    const id = item.id as string
    if (known.has(id)) continue
    const found = recent?.find(id)
    if (found === undefined) {
      if (missable.has(position)) reading.leaveOut('input', 'item_reference')
      else reading.faults.add(item.place as string, GONE)
      continue
    }
    known.add(id)
    bytes += found.bytes
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    const { encrypted_content: sealed } = found.item
    if (sealed !== undefined) sealedReasoning(sealed, item.place as string, reading)
    if (!isEmptyMessage(found.item)) items.push(found.item)
  }
  if (reading.faults.list.length > 0) throw reading.faults.error([])
  const { items: plain } = toPlainItems(items)
  const messages = checkedMessages(settings.instructions, plain, thoughts)
  return {
    asked: Object.assign({}, asked, { items: plain, forward: Object.assign({}, forward, { messages }) }),
    leftOut: [...reading.leftOut],
  }
}

/**
 * Returns the positions of references without which the conversation can go on: those to reasoning and images, and to text
 * that a model wrote before its tool calls. The AI SDK sends them in a tool loop, unless `store` is `false`.
 */
function missableReferences(items: readonly JsonObject[]): ReadonlySet<number> {
  const found = new Set<number>()
  let isBeforeCall = false
  for (let position = items.length - 1; position >= 0; position--) {
    const item = items[position]!
    if (!isReference(item)) isBeforeCall = CALLS.has(item.type)
    else if (isBeforeCall || MISSABLE_ID.test(item.id as string)) found.add(position)
  }
  return found
}

/** A client may have left before the first word of a message. */
function isEmptyMessage({ content, type }: JsonObject): boolean {
  return type === 'message' && Array.isArray(content) && content.filter(isObject).length === 0
}

function tooLarge(maxBytes: number): CompatError {
  return new CompatError(
    'request_too_large',
    `The earlier items that the input names are larger than the limit of ${maxBytes} bytes.`,
    { param: 'input' },
  )
}
