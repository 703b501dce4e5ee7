import { ProviderError, replyTooLong } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { scalarText } from '../../protocol/scalars.js'
import { toAnnotation, toArguments, toImage } from './content.js'
import { toFinish } from './finish.js'
import { lengthOf } from './length.js'
import { callFields, callSignature, thoughtDetail } from './signatures.js'
import { toUsage, type UsageSource } from './usage.js'
import { type AskedFields, ignoredFields } from './warnings.js'

export interface ResultReading {
  readonly source: UsageSource
  readonly asked: AskedFields
  readonly replyBytes: number
}

/** Reads a result of `doGenerate` as one completion and its usage. Throws a `ProviderError` if it has no content. */
export function readResult(result: unknown, { source, asked, replyBytes }: ResultReading): ProviderEvent[] {
  if (!isObject(result) || !Array.isArray(result.content)) {
    throw new ProviderError('invalid-response', 'The result of the model has no content.')
  }
  const parts: readonly unknown[] = result.content
  if (parts.reduce((total: number, part) => total + lengthOf(part), 0) > replyBytes) {
    throw replyTooLong(replyBytes)
  }
  const id = isObject(result.response) ? textOf(result.response.id) : undefined
  const usage = toUsage(result.usage, result.providerMetadata, source)
  const choice = {
    index: 0,
    message: toMessage(parts.filter(isObject)),
    ...(toFinish(result, source) ?? { finish_reason: null }),
  }
  return [
    ...ignoredFields(result.warnings, asked),
    {
      type: 'completion',
      completion: { ...(id !== undefined && { id }), object: 'chat.completion', choices: [choice] },
    },
    ...(usage === undefined ? [] : [{ type: 'usage' as const, usage }]),
  ]
}

function toMessage(parts: readonly JsonObject[]): JsonObject {
  const ofType = (type: string) => parts.filter((part) => part.type === type)
  const textIn = (type: string) => ofType(type).map((part) => scalarText(part.text) ?? '')
  const content = textIn('text').join('')
  const reasoning = textIn('reasoning').join('\n\n')
  const calls = ofType('tool-call').filter((part) => part.providerExecuted !== true)
  const details = parts.map(toDetail).filter((detail) => detail !== undefined)
  const annotations = ofType('source')
    .map(toAnnotation)
    .filter((annotation) => annotation !== undefined)
  const images = ofType('file')
    .map(toImage)
    .filter((image) => image !== undefined)
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
    ...(details.length !== 0 && { reasoning_details: details }),
    ...(calls.length !== 0 && { tool_calls: calls.map(toToolCall) }),
    ...(annotations.length !== 0 && { annotations }),
    ...(images.length !== 0 && { images }),
  }
}

function toDetail(part: JsonObject, index: number): JsonObject | undefined {
  if (part.type === 'reasoning') return thoughtDetail(textOf(part.text) ?? '', part.providerMetadata, index)
  const id = textOf(part.toolCallId)
  const signature = part.type === 'tool-call' ? callSignature(part.providerMetadata) : undefined
  return id === undefined || signature === undefined ? undefined : callFields(id, signature, index).detail
}

function toToolCall(part: JsonObject, index: number): JsonObject {
  const id = textOf(part.toolCallId)
  const name = textOf(part.toolName)
  if (id === undefined || name === undefined) {
    throw new ProviderError('invalid-response', 'A tool call of the model has no id or name.')
  }
  const signature = callSignature(part.providerMetadata)
  return {
    id,
    type: 'function',
    function: { name, arguments: toArguments(part.input) },
    ...(signature !== undefined && callFields(id, signature, index).call),
  }
}
