import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { address } from '../../../protocol/request-fields/addresses.js'
import {
  asItCame,
  boolean,
  cacheControl,
  data,
  listOf,
  type Member,
  membersOf,
  needing,
  objectOf,
  omitted,
  type RequestReading,
  readObject,
  text,
} from '../../../protocol/request-fields/reading.js'
import { signature } from '../reasoning/thoughts.js'
import { replaceMarks } from './nested-marks.js'

const MAX_BLOCKS = 10_000
const WORD = /^[a-z0-9_]{1,64}$/
const MEDIA_TYPE = /^[a-z]+\/[a-z0-9.+-]{1,64}$/i
const NOT_BASE64 = /[^a-z0-9+/=_\s-]/i

/** Members that every block may have. No model reads the citations of earlier replies. */
const COMMON = { type: asItCame, cache_control: cacheControl }

const mediaType: Member = (value, place, { faults }) => {
  if (typeof value !== 'string' || !MEDIA_TYPE.test(value))
    faults.add(place, 'must be a media type such as image/png')
  return value
}

const base64: Member = (value, place, { faults }) => {
  if (typeof value !== 'string' || NOT_BASE64.test(value)) faults.add(place, 'must be base64')
  return value
}

/** A file in the host's account at the provider. It may belong to another caller. */
const fileId: Member = (value, place, reading) => {
  reading.mustBeNamed('file_id', place)
  return text(value, place, reading)
}

/** Reads an object by the value of its `type`. */
function byType(readers: Readonly<Record<string, Member>>): Member {
  const known = new Map(Object.entries(readers))
  return (value, place, reading) => {
    const type = isObject(value) ? value.type : undefined
    const read = known.get(type as string)
    if (read !== undefined) return read(value, place, reading)
    if (isObject(value)) {
      reading.faults.add(
        `${place}.type`,
        type === undefined ? 'is required' : `must be one of ${[...known.keys()].join(', ')}`,
      )
    } else reading.faults.add(place, 'must be an object with a type')
    return value
  }
}

const BASE64 = needing(['media_type', 'data'], { type: asItCame, media_type: mediaType, data: base64 })
const ADDRESS = needing(['url'], { type: asItCame, url: address })
const FILE = needing(['file_id'], { type: asItCame, file_id: fileId })

const textBlock = needing(['text'], { ...COMMON, text, citations: omitted })
const imageBlock = needing(['source'], {
  ...COMMON,
  source: byType({ base64: BASE64, url: ADDRESS, file: FILE }),
})

/** A string, or a list of blocks of these types. Other types reach a provider only if the host names them. */
function contentOf(readers: Readonly<Record<string, Member>>): Member {
  const known = new Map(Object.entries(readers))
  const block: Member = (value, place, reading) => readBlock(value, known, place, reading)
  const blocks = listOf(block, MAX_BLOCKS, 'blocks')
  return (value, place, reading) => {
    if (typeof value === 'string') return value
    if (Array.isArray(value)) return blocks(value, place, reading)
    reading.faults.add(place, 'must be a string or an array of blocks')
    return value
  }
}

function readBlock(
  value: unknown,
  known: ReadonlyMap<string, Member>,
  place: string,
  reading: RequestReading,
): unknown {
  if (!isObject(value)) {
    reading.faults.add(place, 'must be an object with a type')
    return value
  }
  const { type } = value
  if (typeof type !== 'string') {
    reading.faults.add(`${place}.type`, type === undefined ? 'is required' : 'must be a string')
    return value
  }
  const read = known.get(type)
  if (read !== undefined) return read(value, place, reading)
  if (!WORD.test(type) || BLOCK_TYPES.has(type)) {
    reading.faults.add(`${place}.type`, `must be one of ${[...known.keys()].join(', ')}`)
    return value
  }
  // The block belongs to a tool that the provider runs and bills separately, or is newer than this list.
  reading.mustBeNamed(`messages.${type}`, `${place}.type`)
  return replaceMarks(value, place, (mark, path) => cacheControl(mark, path, reading))
}

const citations = objectOf(membersOf({ enabled: boolean }))

const documentBlock = needing(['source'], {
  ...COMMON,
  source: byType({
    base64: BASE64,
    text: needing(['data'], { type: asItCame, media_type: mediaType, data: text }),
    content: needing(['content'], {
      type: asItCame,
      content: contentOf({ text: textBlock, image: imageBlock }),
    }),
    url: ADDRESS,
    file: FILE,
  }),
  title: text,
  context: text,
  citations,
})

const searchResultBlock = needing(['source', 'title', 'content'], {
  ...COMMON,
  source: text,
  title: text,
  content: contentOf({ text: textBlock }),
  citations,
})

const MEDIA = {
  text: textBlock,
  image: imageBlock,
  document: documentBlock,
  search_result: searchResultBlock,
}

/** A tool that the client's own search has found. The request has all tools, so a model only needs its name. */
const toolReference: Member = (value, place, reading) => {
  const { tool_name: name, ...rest } = referenceMembers(value, place, reading) as JsonObject
  return { ...rest, type: 'text', text: `The tool ${name} can be called now.` }
}
const referenceMembers = needing(['tool_name'], { ...COMMON, tool_name: text })

const toolResultBlock = needing(['tool_use_id'], {
  ...COMMON,
  tool_use_id: text,
  content: contentOf({ ...MEDIA, tool_reference: toolReference }),
  is_error: boolean,
})

const USER = { ...MEDIA, tool_result: toolResultBlock }
const ASSISTANT = {
  text: textBlock,
  tool_use: needing(['id', 'name', 'input'], {
    ...COMMON,
    id: text,
    name: text,
    input: data,
    // Copied from replies, where it says that the model itself called the tool.
    caller: omitted,
  }),
  thinking: needing(['thinking'], { type: asItCame, thinking: text, signature }),
  redacted_thinking: needing(['data'], { type: asItCame, data: signature }),
}

const BLOCK_TYPES: ReadonlySet<string> = new Set([...Object.keys(USER), ...Object.keys(ASSISTANT)])

const CONTENT: ReadonlyMap<unknown, Member> = new Map([
  ['user', contentOf(USER)],
  ['assistant', contentOf(ASSISTANT)],
  ['system', contentOf({ text: textBlock })],
])

const MESSAGES = new Map(
  [...CONTENT].map(([role, content]) => [role, membersOf({ role: asItCame, content })] as const),
)

/** Reads one message: its role and content. Other members are omitted. */
export const message: Member = (value, place, reading) => {
  const { faults } = reading
  if (!isObject(value)) {
    faults.add(place, 'must be an object with a role and content')
    return value
  }
  const members = MESSAGES.get(value.role)
  if (members === undefined) {
    faults.add(`${place}.role`, value.role === undefined ? 'is required' : 'must be user or assistant')
    return value
  }
  if ((value.content ?? undefined) === undefined) faults.add(`${place}.content`, 'is required')
  return readObject(value, members, place, reading)
}

/** The system prompt. */
export const system: Member = contentOf({ text: textBlock })

/** Returns the blocks of a message's content. A string is one block of text. */
export function blocksOf(content: unknown): readonly JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isObject) : []
}

/** Whether a block of a reply contains reasoning. */
export function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** Returns the value that the provider of a reasoning block needs back. */
export function signatureOf({ data: hidden, signature, type }: JsonObject): string {
  const given = type === 'redacted_thinking' ? hidden : signature
  return typeof given === 'string' ? given : ''
}
