import { isObject, type JsonObject } from '../json-values.js'
import { address, fileData } from './addresses.js'
import {
  asItCame,
  cacheControl,
  listOf,
  type Member,
  type Members,
  membersOf,
  needing,
  objectOf,
  oneOf,
  type RequestReading,
  readObject,
  text,
} from './reading.js'

const MAX_PARTS = 1_000

interface PartType {
  /** The roles that may send such a part. Any role if absent. */
  readonly roles?: readonly string[]
  readonly members: Members
  /** The required member. */
  readonly needs: string
}

const part = (
  needs: string,
  members: Readonly<Record<string, Member>>,
  roles?: readonly string[],
): PartType => ({
  members: membersOf({ type: asItCame, ...members }),
  needs,
  ...(roles && { roles }),
})

const textMembers = membersOf({ type: asItCame, text })

const detail = oneOf('auto', 'low', 'high', 'original')
const imageObject = needing(['url'], { url: address, detail })
const imageAddress: Member = (value, place, reading) =>
  isObject(value) ? imageObject(value, place, reading) : address(value, place, reading)

const WORD = /^[a-z0-9_-]{1,16}$/i
const word: Member = (value, place, { faults }) => {
  if (typeof value !== 'string' || !WORD.test(value)) faults.add(place, 'must be a word such as wav')
  return value
}

/** A file in the host's account at the provider. It may belong to another caller. */
const fileId: Member = (value, place, reading) => {
  reading.mustBeNamed('file_id', place)
  return text(value, place, reading)
}

/** A member of another OpenAI API. No provider would read it here. */
const fileUrl: Member = (value, place, { faults }) => {
  faults.add(place, 'is not accepted; send the address as file_data')
  return value
}

const file = objectOf(membersOf({ filename: text, file_data: fileData, file_id: fileId, file_url: fileUrl }))

const thinking: Member = (value, place, reading) =>
  typeof value === 'string' ? value : listOf(objectOf(textMembers), MAX_PARTS)(value, place, reading)

const TEXT = part('text', { text, cache_control: cacheControl })
const PART_TYPES: ReadonlyMap<string, PartType> = new Map(
  Object.entries({
    text: TEXT,
    input_text: TEXT,
    output_text: TEXT,
    image_url: part('image_url', { image_url: imageAddress, cache_control: cacheControl }, ['user', 'tool']),
    input_image: part('image_url', { image_url: address, detail }, ['user']),
    input_audio: part(
      'input_audio',
      {
        input_audio: needing(['data'], { data: fileData, format: word }),
      },
      ['user'],
    ),
    file: part('file', { file, cache_control: cacheControl }, ['user']),
    video_url: part('video_url', { video_url: needing(['url'], { url: address }) }, ['user']),
    audio_url: part('audio_url', { audio_url: needing(['url'], { url: address }) }, ['user']),
    refusal: part('refusal', { refusal: text }, ['assistant']),
    thinking: part('thinking', { thinking, signature: text }, ['assistant']),
    redacted_thinking: part('data', { data: text }, ['assistant']),
  }),
)

const SPELT_AS_TEXT = new Set(['input_text', 'output_text'])

/** Reads the typed parts of a message's content. Returns the same list if it can be sent unchanged. */
export function readParts(
  parts: readonly unknown[],
  role: unknown,
  place: string,
  reading: RequestReading,
): unknown {
  return listOf((value, here) => readPart(value, role, here, reading), MAX_PARTS, 'parts')(
    parts,
    place,
    reading,
  )
}

function readPart(value: unknown, role: unknown, place: string, reading: RequestReading): unknown {
  const { faults } = reading
  if (!isObject(value)) {
    faults.add(place, 'must be an object with a type')
    return value
  }
  const { type } = value
  if (typeof type !== 'string') {
    faults.add(`${place}.type`, type === undefined ? 'is required' : 'must be a string')
    return value
  }
  const known = PART_TYPES.get(type)
  if (known === undefined || known.roles?.includes(role as string) === false) {
    faults.add(
      `${place}.type`,
      known === undefined
        ? `must be one of ${[...PART_TYPES.keys()].join(', ')}`
        : 'does not fit the role of its message',
    )
    return value
  }
  if ((value[known.needs] ?? undefined) === undefined) faults.add(`${place}.${known.needs}`, 'is required')
  const read: JsonObject = readObject(value, known.members, place, reading)
  return SPELT_AS_TEXT.has(type) ? { ...read, type: 'text' } : read
}
