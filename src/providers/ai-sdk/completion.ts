import { ProviderError, replyTooLong } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import type { Labels, ProviderDelta } from '../../conversation/delta.js'
import { isObject, isText, type JsonObject } from '../../protocol/json-values.js'
import { scalarText } from '../../protocol/scalars.js'
import { isCount } from '../../protocol/usage.js'
import { readUsage } from '../openai-compatible/usage.js'
import { addOrPassOver, unreadable } from '../unreadable.js'
import { usageRefused } from './errors.js'
import { lengthOf } from './length.js'
import { createPartReader, type PartReader } from './stream.js'
import type { UsageSource } from './usage.js'
import type { AskedFields } from './warnings.js'

export interface ResultReading {
  readonly source: UsageSource
  readonly asked: AskedFields
  readonly replyBytes: number
}

/** Reads a result of `doGenerate` as the parts in which it would have been streamed. Throws a `ProviderError` if it has no content. */
export function readResult(result: unknown, { source, asked, replyBytes }: ResultReading): ProviderEvent[] {
  if (!isObject(result) || !Array.isArray(result.content)) {
    throw new ProviderError('invalid-response', 'The result of the model has no content.')
  }
  const parts: readonly unknown[] = result.content
  if (lengthOf(parts, replyBytes) > replyBytes) throw replyTooLong(replyBytes)
  const reader = createPartReader(source, asked)
  const { finishReason, providerMetadata, response, usage, warnings } = result
  const labels = isObject(response) ? reader.read({ ...response, type: 'response-metadata' }) : []
  const content = readContent(parts.filter(isObject), reader)
  const end = reader.read({ type: 'finish', finishReason, providerMetadata, usage })
  const isWithoutCalls = content.some(({ type }) => type === 'unreadable') && !content.some(hasCall)
  return joined([
    ...reader.read({ type: 'stream-start', warnings }),
    ...labels,
    ...content,
    ...(isWithoutCalls ? end.map(withoutCalls) : end),
  ])
}

const hasCall = (event: ProviderEvent): boolean =>
  event.type === 'deltas' && event.deltas.some(({ type }) => type === 'call')

/** Of a reply all of whose calls are left out, the end says that it has none. */
function withoutCalls(event: ProviderEvent): ProviderEvent {
  if (event.type !== 'deltas') return event
  const deltas = event.deltas.map(
    (delta): ProviderDelta =>
      delta.type === 'end' && delta.reason === 'tool_calls'
        ? { type: 'end', choice: 0, reason: 'stop' }
        : delta,
  )
  return { ...event, deltas }
}

const END: ProviderEvent = { type: 'deltas', deltas: [{ type: 'end', choice: 0, reason: 'stop' }] }

/**
 * Returns the events of a whole reply whose content the package refused, if the reply counts output: a model may have
 * been made to write it, and the provider bills it. Returns `undefined` for any other error.
 */
export function readRefused(error: unknown, replyBytes: number): ProviderEvent[] | undefined {
  const usage = readUsage(usageRefused(error, replyBytes), undefined)
  if (!isCount(usage?.completion) || usage.completion === 0) return undefined
  return [unreadable('The package could not read the content.'), { type: 'usage', usage }, END]
}

const BETWEEN: ProviderDelta = Object.freeze({ type: 'text', choice: 0, kind: 'thought', text: '\n\n' })

function readContent(parts: readonly JsonObject[], reader: PartReader): ProviderEvent[] {
  const events: ProviderEvent[] = []
  let hasReasoned = false
  const read = (part: JsonObject, id: number): readonly ProviderEvent[] => {
    const text = scalarText(part.text)
    switch (part.type) {
      case 'text':
        return reader.read({ type: 'text-delta', delta: text })
      case 'reasoning': {
        const { providerMetadata } = part
        const thought = reader.read({ type: 'reasoning-delta', id, delta: text, providerMetadata })
        const isNext = hasReasoned && isText(text)
        hasReasoned ||= isText(text)
        return isNext ? [{ type: 'deltas', deltas: [BETWEEN] }, ...thought] : thought
      }
      case 'tool-call':
      case 'source':
      case 'file':
        return reader.read(part)
      default:
        return []
    }
  }
  for (const [id, part] of parts.entries()) addOrPassOver(events, () => read(part, id))
  return events
}

/** Joins the deltas before each usage into one event, since they came at once. */
function joined(events: readonly ProviderEvent[]): ProviderEvent[] {
  const read: ProviderEvent[] = []
  let deltas: ProviderDelta[] = []
  let labels: Labels | undefined
  const flush = (): void => {
    if (deltas.length > 0) read.push({ type: 'deltas', deltas, ...(labels !== undefined && { labels }) })
    deltas = []
  }
  for (const event of events) {
    if (event.type === 'deltas') {
      labels ??= event.labels
      deltas.push(...event.deltas)
      continue
    }
    if (event.type === 'usage') flush()
    read.push(event)
  }
  flush()
  return read
}
