import { isObject, isText, type JsonObject, saysNothing, textOf } from '../protocol/json-values.js'
import { scalarText } from '../protocol/scalars.js'
import type { Losses } from './losses.js'
import { reasoningTextIn, signedDetail } from './reasoning-shapes.js'

/** The combined parts of a content, under the names that clients read. */
export interface JoinedParts {
  text: string
  reasoning: string
  refusal: string
  readonly images: JsonObject[]
  readonly toolCalls: JsonObject[]
  readonly reasoningDetails: JsonObject[]
  readonly annotations: unknown[]
  /** Parts of other types, unchanged. */
  readonly others: JsonObject[]
}

const REASONING_TYPES = new Set(['thinking', 'reasoning', 'reasoning_text', 'summary_text', 'thought'])
const IMAGE_TYPES = new Set(['image_url', 'image', 'output_image', 'input_image'])
const MEDIA_TYPE = /^image\/[\w.+-]+$/

/** Combines the parts of a content. Parts of types that clients read under no other name are unchanged. */
export function joinParts(parts: readonly unknown[], losses: Losses): JoinedParts {
  const joined: JoinedParts = {
    text: '',
    reasoning: '',
    refusal: '',
    images: [],
    toolCalls: [],
    reasoningDetails: [],
    annotations: [],
    others: [],
  }
  for (const part of parts) {
    const scalar = scalarText(part)
    if (scalar !== undefined) joined.text += scalar
    else if (isObject(part)) joinPart(joined, part, losses)
    else if (saysNothing(part)) losses.mend('part-skipped')
    else losses.add('a part of the content is neither text nor an object', part)
  }
  return joined
}

function joinPart(joined: JoinedParts, part: JsonObject, losses: Losses): void {
  const type = textOf(part.type) ?? ''
  if (REASONING_TYPES.has(type) || (type === '' && part.thinking !== undefined)) {
    const text = reasoningTextIn(part)
    joined.reasoning += text
    const detail = signedDetail(part, text)
    if (detail !== undefined) joined.reasoningDetails.push(detail)
    return
  }
  const image = IMAGE_TYPES.has(type) ? readImage(part) : undefined
  const text = isObject(part.text) ? part.text.value : part.text
  const written = scalarText(text)
  if (image !== undefined) joined.images.push(image)
  else if (type === 'refusal' && isText(part.refusal)) joined.refusal += part.refusal
  else if (type === 'tool_use' && isText(part.name)) {
    const { id, input, name } = part
    joined.toolCalls.push({ id, type: 'function', function: { name, arguments: input ?? '' } })
  } else if (written !== undefined) {
    joined.text += written
    const { annotations } = isObject(part.text) ? part.text : part
    if (Array.isArray(annotations)) for (const annotation of annotations) joined.annotations.push(annotation)
  } else if (Object.keys(part).some((name) => name !== 'type' && part[name] !== null)) {
    joined.others.push(part)
  } else losses.mend('part-skipped')
}

/** Returns an image in the shape that clients read, with its address or its data. */
function readImage({
  image_url: given,
  source,
  data,
  mime_type,
  media_type,
}: JsonObject): JsonObject | undefined {
  const held = isObject(source) ? source : { data, media_type: media_type ?? mime_type }
  const url =
    textOf(given) ?? (isObject(given) ? textOf(given.url) : undefined) ?? textOf(held.url) ?? dataUrl(held)
  return url === undefined ? undefined : { type: 'image_url', image_url: { url } }
}

function dataUrl({ data, media_type: type }: JsonObject): string | undefined {
  const mediaType = isText(type) && MEDIA_TYPE.test(type) ? type : 'image/png'
  return isText(data) ? `data:${mediaType};base64,${data}` : undefined
}
