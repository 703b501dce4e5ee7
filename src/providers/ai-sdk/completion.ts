import { ProviderError, replyTooLong } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import type { Labels, ProviderDelta } from '../../conversation/delta.js'
import { isObject, isText, type JsonObject } from '../../protocol/json-values.js'
import { scalarText } from '../../protocol/scalars.js'
import { UnreadableContent } from '../unreadable.js'
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
  if (parts.reduce((total: number, part) => total + lengthOf(part), 0) > replyBytes) {
    throw replyTooLong(replyBytes)
  }
  const reader = createPartReader(source, asked)
  const { finishReason, providerMetadata, response, usage, warnings } = result
  try {
    return joined([
      ...reader.read({ type: 'stream-start', warnings }),
      ...(isObject(response) ? reader.read({ ...response, type: 'response-metadata' }) : []),
      ...readContent(parts.filter(isObject), reader),
      ...reader.read({ type: 'finish', finishReason, providerMetadata, usage }),
    ])
  } catch (error) {
    if (!(error instanceof UnreadableContent)) throw error
    throw new ProviderError('invalid-response', 'A tool call of the model has no id or name.')
  }
}

const BETWEEN: ProviderDelta = Object.freeze({ type: 'text', choice: 0, kind: 'thought', text: '\n\n' })

function readContent(parts: readonly JsonObject[], reader: PartReader): ProviderEvent[] {
  let hasReasoned = false
  return parts.flatMap((part, id) => {
    const text = scalarText(part.text)
    switch (part.type) {
      case 'text':
        return reader.read({ type: 'text-delta', delta: text })
      case 'reasoning': {
        const { providerMetadata } = part
        const read = reader.read({ type: 'reasoning-delta', id, delta: text, providerMetadata })
        const isNext = hasReasoned && isText(text)
        hasReasoned ||= isText(text)
        return isNext ? [{ type: 'deltas', deltas: [BETWEEN] }, ...read] : read
      }
      case 'tool-call':
      case 'source':
      case 'file':
        return reader.read(part)
      default:
        return []
    }
  })
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
