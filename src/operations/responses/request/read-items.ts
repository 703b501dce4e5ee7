import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { address, fileData } from '../../../protocol/request-fields/addresses.js'
import {
  asItCame,
  data,
  ifRight,
  listOf,
  type Member,
  needing,
  OMITTED,
  omitted,
  oneOf,
  type RequestReading,
  TOO_MUCH_JSON,
  text,
} from '../../../protocol/request-fields/reading.js'
import { additionalTools, foundTools } from './read-tools.js'
import { sealedReasoning } from './sealed-reasoning.js'

const MAX_ITEMS = 10_000
const MAX_PARTS = 1_000

const FILE_ID = 'is not accepted; send the content itself'

const detail = oneOf('auto', 'low', 'high', 'original')
const fileId: Member = (_value, place, { faults }) => {
  faults.add(place, FILE_ID)
  return OMITTED
}
const LONGEST_WORD = 64
const ofReply = ifRight((value) => typeof value === 'string')
/** A word of the provider's, such as `commentary`. A longer text could reach the model, and no hold counts it. */
const ofReplyWord = ifRight((value) => typeof value === 'string' && value.length <= LONGEST_WORD)

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
/** The member that a part must have unless it has a `file_id`, which is refused anyway. */
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
const output = textOrParts('input_text', 'output_text', 'text', 'input_image', 'input_file')

/** Members of an item that only tell its origin. */
const LABELS = { type: asItCame, id: ofReply, status: omitted }

const roles = oneOf('user', 'assistant', 'system', 'developer')
const message: Member = (value, place, reading) => {
  const role = isObject(value) ? value.role : undefined
  const content = CONTENT.get(role) ?? asItCame
  return needing(['role', 'content'], { ...LABELS, role: roles, content, phase: ofReplyWord })(
    value,
    place,
    reading,
  )
}

const summary = listOf(needing(['text'], { type: asItCame, text }), MAX_PARTS, 'parts')
const members = (required: readonly string[], more: Readonly<Record<string, Member>>): Member =>
  needing(required, { ...LABELS, ...more })

/** Also checked later as part of a message, but errors there cannot name the item. */
const callArguments: Member = (value, place, reading) => {
  if (typeof value === 'string' && reading.innerJson.add(value) === 'too-many') {
    reading.faults.add(place, TOO_MUCH_JSON)
  }
  return text(value, place, reading)
}

const ITEMS: ReadonlyMap<unknown, Member> = new Map([
  ['message', message],
  [
    'function_call',
    members(['call_id', 'name', 'arguments'], {
      call_id: text,
      name: text,
      namespace: text,
      arguments: callArguments,
    }),
  ],
  [
    'custom_tool_call',
    members(['call_id', 'name', 'input'], { call_id: text, name: text, namespace: text, input: text }),
  ],
  ['function_call_output', members(['call_id', 'output'], { call_id: text, output })],
  ['custom_tool_call_output', members(['call_id', 'output'], { call_id: text, output })],
  // A search that the provider ran has no `call_id`.
  ['tool_search_call', members(['arguments'], { call_id: text, execution: omitted, arguments: asItCame })],
  ['tool_search_output', members(['tools'], { call_id: text, execution: omitted, tools: foundTools })],
  ['additional_tools', members(['tools'], { role: omitted, tools: additionalTools })],
  ['local_shell_call', members(['call_id', 'action'], { call_id: text, action: data })],
  ['local_shell_call_output', members(['output'], { call_id: text, output: asItCame })],
  [
    'shell_call',
    members(['call_id', 'action'], {
      call_id: text,
      action: data,
      environment: omitted,
      max_output_length: omitted,
    }),
  ],
  [
    'shell_call_output',
    members(['call_id', 'output'], { call_id: text, output: asItCame, max_output_length: omitted }),
  ],
  ['apply_patch_call', members(['call_id', 'operation'], { call_id: text, operation: data })],
  ['apply_patch_call_output', members(['call_id'], { call_id: text, output: asItCame })],
  ['reasoning', members([], { summary, content: summary, encrypted_content: sealedReasoning })],
])

/**
 * Items of tools that a provider ran for an earlier reply. No other provider reads them, and the text of the reply tells
 * what they found.
 */
const RUN_BY_PROVIDER: ReadonlySet<unknown> = new Set([
  'image_generation_call',
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
])

const KINDS = [...ITEMS.keys()].join(', ')
const REFERENCE = 'item_reference'
const reference = needing(['id'], { type: asItCame, id: text })

const item: Member = (value, place, reading) => {
  if (!isObject(value)) {
    reading.faults.add(place, 'must be an object')
    return OMITTED
  }
  const { type } = value
  // The type of a reference is optional.
  if (type === REFERENCE || (type === undefined && value.role === undefined && value.id !== undefined)) {
    reference(value, place, reading)
    return { type: REFERENCE, id: value.id, place }
  }
  if (RUN_BY_PROVIDER.has(type)) {
    reading.leaveOut(place, type as string)
    return OMITTED
  }
  const read = ITEMS.get(type ?? 'message')
  if (read !== undefined) return read(value, place, reading)
  reading.faults.add(`${place}.type`, `must be one of ${KINDS}`)
  return OMITTED
}

/** Whether an item that was read is a reference to an earlier one. Its `place` in the request is used in errors. */
export function isReference({ type }: JsonObject): boolean {
  return type === REFERENCE
}

const items = listOf(item, MAX_ITEMS, 'items')

/** Reads `input`: a text, or the items of the conversation so far. Returns items, and references to earlier ones. */
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
  return items(value, 'input', reading) as readonly JsonObject[]
}
