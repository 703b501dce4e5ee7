import { CompatError } from '../../../base/errors.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { RequestReading } from '../../../protocol/request-fields/reading.js'
import { fromWire, type WireBytes } from '../../../protocol/wire-bytes.js'
import { toPlainItems } from '../request/plain-items.js'
import { isReference } from '../request/read-items.js'
import type { AskedResponse } from '../request/read-request.js'
import { readTurns } from '../request/read-turns.js'
import { sealedReasoning } from '../request/sealed-reasoning.js'
import type { CallersItems } from './recent-items.js'

/** An earlier item, not read yet. */
class NamedItem {
  constructor(
    readonly json: WireBytes,
    /** The position of its reference in the request, for errors. */
    readonly place: string,
  ) {}
}

/** The items of a request. Those that it names are not read yet. */
export interface NamedItems {
  /** The request's own items, and those that it names. */
  readonly items: readonly (JsonObject | NamedItem)[]
  /** The size of the items that it names. */
  readonly bytes: number
  /** The members that were left out. */
  readonly leftOut: readonly string[]
}

const GONE =
  'refers to an earlier item by its id, but replies are not stored here for long; send the item itself (in the AI SDK, set providerOptions.openai.store to false)'
const CALLS = new Set<unknown>(['function_call', 'custom_tool_call', 'tool_search_call'])
/** Id prefixes of reasoning and image items. A conversation can continue without them. */
const MISSABLE_ID = /^(?:rs|ig)_/

/**
 * Finds the earlier items that a request names, without reading them. Repeated references to one item have no effect.
 * Returns undefined if the request names none. Throws a `CompatError` of status 400 if an item is gone that the
 * conversation needs, and of status 413 if the items together are larger than `maxBytes`.
 *
 * @param recent the recent items of the caller. Undefined if none are kept
 */
export function findNamedItems(
  given: readonly JsonObject[],
  recent: CallersItems | undefined,
  maxBytes: number,
): NamedItems | undefined {
  if (!given.some(isReference)) return undefined
  const reading = new RequestReading()
  const missable = missableReferences(given)
  const known = new Set<string>()
  const items: (JsonObject | NamedItem)[] = []
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
    bytes += found.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    items.push(new NamedItem(found, item.place as string))
  }
  if (reading.faults.list.length > 0) throw reading.faults.error([])
  return { items, bytes, leftOut: reading.leftOut }
}

/**
 * Returns the request with the items that it names. Throws a `CompatError` of status 400 if no provider accepts one of
 * them.
 */
export function withNamedItems(asked: AskedResponse, { items: found }: NamedItems): AskedResponse {
  const reading = new RequestReading()
  const items: JsonObject[] = []
  for (const item of found) {
    if (!(item instanceof NamedItem)) items.push(item)
    else {
      const read: JsonObject = JSON.parse(fromWire(item.json))
      const { encrypted_content: sealed } = read
      if (sealed !== undefined) sealedReasoning(sealed, item.place, reading)
      if (!isEmptyMessage(read)) items.push(read)
    }
  }
  if (reading.faults.list.length > 0) throw reading.faults.error([])
  const { items: plain } = toPlainItems(items)
  const turns = readTurns(asked.settings.instructions, plain, asked.thoughts)
  return Object.assign({}, asked, {
    items: plain,
    forward: Object.assign({}, asked.forward, { turns }),
  })
}

/**
 * Returns the positions of references that the conversation can do without: reasoning, images, and text that a model
 * wrote before its tool calls. The AI SDK sends them in a tool loop unless `store` is `false`.
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
