import type { ChatRequest } from '../../protocol/chat-request.js'
import { isObject } from '../../protocol/json-values.js'
import { unsupported } from './unsupported.js'

const isEmpty = (value: unknown) =>
  Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0

/** Values that ask for what a provider does anyway, as clients send them unasked. */
const NEUTRAL: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['n', (value: unknown) => value === 1],
  ['frequency_penalty', (value: unknown) => value === 0],
  ['presence_penalty', (value: unknown) => value === 0],
  ['top_p', (value: unknown) => value === 1],
  ['logit_bias', isEmpty],
  ['metadata', isEmpty],
  ['functions', isEmpty],
  ['logprobs', (value: unknown) => value === false],
  ['top_logprobs', (value: unknown) => value === 0],
  ['store', (value: unknown) => value === false],
  ['service_tier', (value: unknown) => value === 'auto' || value === 'default'],
  ['modalities', (value: unknown) => Array.isArray(value) && value.every((modality) => modality === 'text')],
  ['include_reasoning', (value: unknown) => value === true],
  // Usage always comes.
  ['usage', (value: unknown) => isObject(value) && Object.keys(value).every((key) => key === 'include')],
])

const NO_PARAMETER = new Set(['model', 'messages', 'stream', 'stream_options'])

/**
 * The parameters of a request that are not among `read` and ask for something: not null, and no value that stands for
 * what happens anyway.
 */
export function otherParameters(request: ChatRequest, read: ReadonlySet<string>): Map<string, unknown> {
  const others = new Map<string, unknown>()
  for (const [field, value] of Object.entries(request)) {
    if (value === null || value === undefined || NO_PARAMETER.has(field) || read.has(field)) continue
    if (NEUTRAL.get(field)?.(value) !== true) others.set(field, value)
  }
  return others
}

/** Refuses the first of the parameters that no one took. */
export function refuseParameters(others: ReadonlyMap<string, unknown>): void {
  const [field] = others.keys()
  if (field === undefined) return
  throw unsupported(
    field,
    `${field}: this parameter, or this value of it, is not supported by this provider.`,
  )
}
