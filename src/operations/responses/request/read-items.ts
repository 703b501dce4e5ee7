import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { address, fileData } from '../../../protocol/request-fields/addresses.js'
import {
  asItCame,
  ifRight,
  listOf,
  type Member,
  type Members,
  membersOf,
  needing,
  OMITTED,
  omitted,
  oneOf,
  type RequestReading,
  readObject,
  text,
} from '../../../protocol/request-fields/reading.js'
import { foundTools } from './read-tools.js'

const MAX_ITEMS = 10_000
const MAX_PARTS = 1_000

/** An item of an earlier reply can only be named where replies are stored. */
const NOT_STORED =
  'names an earlier item by its id, and no reply is stored here; send the item itself (in the AI SDK, set providerOptions.openai.store to false)'
const FILE_ID = 'is not accepted; send the content itself'

const detail = oneOf('auto', 'low', 'high', 'original')
const fileId: Member = (_value, place, { faults }) => {
  faults.add(place, FILE_ID)
  return OMITTED
}
const ofReply = ifRight((value) => typeof value === 'string')

const TEXT = needing(['text'], { type: asItCame, text, annotations: omitted, logprobs: omitted })
const PARTS: ReadonlyMap<unknown, Member> = new Map([
  ['input_text', TEXT],
  ['output_text', TEXT],
  ['text', TEXT],
  ['refusal', needing(['refusal'], { type: asItCame, refusal: text })],
  ['input_image', needing([], { type: asItCame, image_url: address, detail, file_id: fileId })],
  [
    'input_file',
    needing([], {
      type: asItCame,
      filename: text,
      file_data: fileData,
      file_url: address,
      file_id: fileId,
      detail: omitted,
    }),
  ],
])
/** The member that a part cannot be without, if it has no `file_id`, which is refused anyway. */
const NEEDED: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['input_image', ['image_url']],
  ['input_file', ['file_data', 'file_url']],
])

const partsOf = (types: ReadonlySet<unknown>): Member =>
  listOf(
    (value, place, reading) => {
      const type = isObject(value) ? value.type : undefined
      const read = types.has(type) ? PARTS.get(type) : undefined
      if (!isObject(value) || read === undefined) {
        reading.faults.add(`${place}.type`, `must be one of ${[...types].join(', ')}`)
        return OMITTED
      }
      const needed = NEEDED.get(type)
      const hasOne = [...(needed ?? []), 'file_id'].some((name) => (value[name] ?? undefined) !== undefined)
      if (needed !== undefined && !hasOne) reading.faults.add(`${place}.${needed[0]}`, 'is required')
      return read(value, place, reading)
    },
    MAX_PARTS,
    'parts',
  )

const textOrParts = (...types: readonly string[]): Member => {
  const parts = partsOf(new Set(types))
  return (value, place, reading) => {
    if (typeof value === 'string' || Array.isArray(value))
      return typeof value === 'string' ? value : parts(value, place, reading)
    reading.faults.add(place, 'must be a string or a list of parts')
    return OMITTED
  }
}

const CONTENT: ReadonlyMap<unknown, Member> = new Map([
  ['user', textOrParts('input_text', 'input_image', 'input_file', 'text', 'output_text')],
  ['system', textOrParts('input_text', 'text')],
  ['developer', textOrParts('input_text', 'text')],
  ['assistant', textOrParts('output_text', 'refusal', 'input_text', 'text')],
])
const output = textOrParts('input_text', 'output_text', 'text', 'input_image')

/** Members of an item that only say where it came from. */
const LABELS = { type: asItCame, id: ofReply, status: omitted }

const roles = oneOf('user', 'assistant', 'system', 'developer')
const message: Member = (value, place, reading) => {
  const role = isObject(value) ? value.role : undefined
  const content = CONTENT.get(role) ?? asItCame
  return needing(['role', 'content'], { ...LABELS, role: roles, content, phase: ofReply })(
    value,
    place,
    reading,
  )
}

const summary = listOf(needing(['text'], { type: asItCame, text }), MAX_PARTS, 'parts')
const members = (required: readonly string[], more: Readonly<Record<string, Member>>): Member =>
  needing(required, { ...LABELS, ...more })

const ITEMS: ReadonlyMap<unknown, Member> = new Map([
  ['message', message],
  [
    'function_call',
    members(['call_id', 'name', 'arguments'], {
      call_id: text,
      name: text,
      namespace: text,
      arguments: text,
    }),
  ],
  [
    'custom_tool_call',
    members(['call_id', 'name', 'input'], { call_id: text, name: text, namespace: text, input: text }),
  ],
  ['function_call_output', members(['call_id', 'output'], { call_id: text, output })],
  ['custom_tool_call_output', members(['call_id', 'output'], { call_id: text, output })],
  [
    'tool_search_call',
    members(['call_id', 'arguments'], { call_id: text, execution: omitted, arguments: asItCame }),
  ],
  [
    'tool_search_output',
    members(['call_id', 'tools'], { call_id: text, execution: omitted, tools: foundTools }),
  ],
  ['reasoning', members([], { summary, content: summary, encrypted_content: ofReply })],
])

const INPUT = 'input.'
const KINDS = [...ITEMS.keys()].join(', ')
const REFERENCE: Members = membersOf({ type: asItCame, id: text })
/** Reasoning is not needed to go on, and its id begins with this. */
const REASONING_ID = 'rs_'

const item: Member = (value, place, reading) => {
  if (!isObject(value)) {
    reading.faults.add(place, 'must be an object')
    return OMITTED
  }
  const { type } = value
  if (isReference(value)) {
    readObject(value, REFERENCE, place, reading)
    reading.faults.add(place, NOT_STORED)
    return OMITTED
  }
  // Images of an earlier reply, which nobody reads again.
  if (type === 'image_generation_call') {
    reading.leaveOut(place, type)
    return OMITTED
  }
  const read = ITEMS.get(type ?? 'message')
  if (read !== undefined) return read(value, place, reading)
  reading.faults.add(`${place}.type`, `must be one of ${KINDS}`)
  return OMITTED
}

/** A reference may lack its type. */
function isReference({ id, role, type }: JsonObject): boolean {
  return type === 'item_reference' || (type === undefined && role === undefined && id !== undefined)
}

const CALLS = new Set<unknown>(['function_call', 'custom_tool_call', 'tool_search_call'])

/**
 * Returns the positions of references without which the conversation can go on: those to reasoning, and to text that a
 * model wrote before its tool calls. The AI SDK sends both in a tool loop, unless `store` is `false`.
 */
function missableReferences(list: readonly unknown[]): ReadonlySet<number> {
  const found = new Set<number>()
  let isBeforeCall = false
  for (let position = list.length - 1; position >= 0; position--) {
    const value = list[position]
    if (!isObject(value) || !isReference(value)) isBeforeCall = isObject(value) && CALLS.has(value.type)
    else if (isBeforeCall || isReasoningId(value.id)) found.add(position)
  }
  return found
}

function isReasoningId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(REASONING_ID)
}

/** Reads `input`: a text, or the items of the conversation so far. Returns items. */
export function readInput(value: unknown, reading: RequestReading): readonly JsonObject[] {
  if (typeof value === 'string') return [{ role: 'user', content: value }]
  if (value === undefined || value === null) {
    reading.faults.add('input', 'is required')
    return []
  }
  if (!Array.isArray(value)) {
    reading.faults.add('input', 'must be a string or a list of items')
    return []
  }
  if (value.length === 0) reading.faults.add('input', 'must have at least one item')
  const missable = missableReferences(value)
  const items = listOf(
    (given, place, notes) => {
      if (!missable.has(Number(place.slice(INPUT.length)))) return item(given, place, notes)
      notes.leaveOut(place, 'item_reference')
      return OMITTED
    },
    MAX_ITEMS,
    'items',
  )
  return items(value, 'input', reading) as readonly JsonObject[]
}
