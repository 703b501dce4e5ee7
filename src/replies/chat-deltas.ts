import type { Delta, Members } from '../conversation/delta.js'
import { isObject, isText, type JsonObject } from '../protocol/json-values.js'
import { imageAddress } from './image-text.js'

const NO_DETAILS: readonly Members[] = []

/**
 * Adds the deltas of a delta or message of a chat to `sent`.
 *
 * @param said what is said, as `mendText` leaves it, without its calls
 * @param beside the other members of the choice
 * @param calls the deltas of the calls
 */
export function addDeltas(
  choice: number,
  said: JsonObject,
  beside: JsonObject,
  calls: readonly Delta[],
  sent: Delta[],
): void {
  const { annotations, audio, content, images, reasoning, reasoning_details: details, refusal } = said
  const { logprobs } = beside
  if (isText(reasoning)) sent.push({ type: 'text', choice, kind: 'thought', text: reasoning })
  const readable = isFilled(details) ? details.filter(isObject) : NO_DETAILS
  if (readable.length > 0) sent.push({ type: 'details', choice, details: readable })
  if (isObject(logprobs)) sent.push({ type: 'logprobs', choice, logprobs })
  if (isText(content)) sent.push({ type: 'text', choice, kind: 'text', text: content })
  if (isText(refusal)) sent.push({ type: 'text', choice, kind: 'refusal', text: refusal })
  if (isFilled(annotations)) {
    for (const annotation of annotations)
      if (isObject(annotation)) sent.push({ type: 'annotation', choice, annotation })
  }
  if (isFilled(images)) {
    for (const image of images) sent.push({ type: 'image', choice, image, address: imageAddress(image) })
  }
  if (isObject(audio)) sent.push({ type: 'audio', choice, audio })
  for (const call of calls) sent.push(call)
  const otherSaid = others(said)
  const otherBeside = othersBeside(beside, isObject(logprobs))
  if (otherSaid !== undefined || otherBeside !== undefined)
    sent.push({ type: 'rest', choice, said: otherSaid, beside: otherBeside })
}

/** Whether a member of a delta or message has a delta of its own. */
function isSaid(name: string, value: unknown): boolean {
  switch (name) {
    case 'content':
    case 'refusal':
    case 'reasoning':
    case 'reasoning_content':
      return isText(value)
    case 'reasoning_details':
    case 'annotations':
    case 'images':
      return isFilled(value)
    case 'audio':
      return isObject(value)
    default:
      return false
  }
}

/** Returns the members without a delta of their own. Undefined if there are none, as in most events. */
function others(said: JsonObject): Members | undefined {
  let rest: JsonObject | undefined
  for (const name of Object.keys(said)) {
    const value = said[name]
    if (value === undefined || isSaid(name, value) || name === '__proto__') continue
    rest ??= {}
    rest[name] = value
  }
  return rest
}

/** Copies nothing in most events. */
function othersBeside(beside: JsonObject, hasProbabilities: boolean): Members | undefined {
  let isEmpty = true
  for (const name in beside) {
    if (name === '__proto__' || (name === 'logprobs' && hasProbabilities)) {
      const { logprobs: _, ['__proto__']: __, ...rest } = beside
      return rest
    }
    isEmpty = false
  }
  return isEmpty ? undefined : beside
}

function isFilled(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0
}
