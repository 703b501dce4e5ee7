import type { CompatError } from '../../../base/errors.js'
import type { ReplyParts } from '../../../contracts/operation.js'
import { errorObject } from '../../../protocol/error-body.js'
import type { FinishReason } from '../../../protocol/finish-reason.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { jsonBytes, type WireBytes, wire } from '../../../protocol/wire-bytes.js'
import { type WireCharge, wireUsage } from '../../../protocol/wire-usage.js'
import type { CallersItems } from '../recall/recent-items.js'
import type { AskedResponse } from '../request/read-request.js'

/** A reply, and the parts of its request that it depends on. */
export interface AboutResponse extends Pick<AskedResponse, 'calledTools' | 'include'> {
  readonly parts: ReplyParts
  /** Undefined if no items are kept. */
  readonly recent: CallersItems | undefined
  readonly repeated: RepeatedRequest
}

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** The state of a response, as its events and its body show it. */
export interface ResponseState {
  readonly status: ResponseStatus
  readonly usage?: JsonObject
  readonly error?: JsonObject
  /** Why it is incomplete. */
  readonly reason?: string | undefined
}

type Repeated = Pick<AskedResponse, 'model' | 'settings' | 'user'>

/** The members of a response before its output, and those behind it. */
type Around = readonly [before: WireBytes, after: WireBytes]

const DEFAULT_FORMAT = Object.freeze({ type: 'text' })

/** The fields of a request that each response object repeats, serialised once. Instructions may have megabytes. */
export class RepeatedRequest {
  private json: Around | undefined

  constructor(private request: Repeated | undefined) {}

  /** The fields before the output, as members of a JSON object. */
  get beforeOutput(): WireBytes {
    return this.written[0]
  }

  get afterOutput(): WireBytes {
    return this.written[1]
  }

  get bytes(): number {
    const [before, after] = this.written
    return before.length + after.length
  }

  private get written(): Around {
    if (this.request !== undefined) {
      this.json = write(this.request)
      // Only the text is needed from here on.
      this.request = undefined
    }
    return this.json!
  }
}

function write({ model, settings, user }: Repeated): Around {
  const { parameters, reasoning, text } = settings
  return [
    members({
      instructions: settings.instructions ?? null,
      max_output_tokens: settings.maxOutputTokens ?? null,
      max_tool_calls: null,
      model,
    }),
    members({
      parallel_tool_calls: parameters.parallel_tool_calls ?? true,
      previous_response_id: null,
      prompt_cache_key: parameters.prompt_cache_key ?? null,
      reasoning: { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null },
      safety_identifier: parameters.safety_identifier ?? null,
      service_tier: 'default',
      store: false,
      temperature: parameters.temperature ?? 1,
      text: { ...text, format: text.format ?? DEFAULT_FORMAT },
      tool_choice: settings.toolChoice ?? 'auto',
      tools: settings.tools,
      top_logprobs: parameters.top_logprobs ?? 0,
      top_p: parameters.top_p ?? 1,
      frequency_penalty: parameters.frequency_penalty ?? 0,
      presence_penalty: parameters.presence_penalty ?? 0,
      truncation: 'disabled',
      user: user ?? null,
      metadata: settings.metadata ?? {},
    }),
  ]
}

/**
 * Yields a response object in pieces, with every field that its specification requires.
 *
 * @param output the pieces of the JSON of its items
 */
export function* responsePieces(
  { parts, repeated }: AboutResponse,
  { error, reason, status, usage }: ResponseState,
  output: Iterable<WireBytes>,
): Generator<WireBytes, void> {
  const state = members({
    id: parts.id,
    object: 'response',
    created_at: parts.created,
    completed_at: null,
    status,
    background: false,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
  })
  yield wire(`{${state},`)
  yield repeated.beforeOutput
  yield wire(',"output":')
  yield* output
  yield wire(`,${members({ usage: usage ?? null })},`)
  yield repeated.afterOutput
  yield wire('}')
}

/** Returns the members of a non-empty object, without its braces. */
function members(object: JsonObject): WireBytes {
  return jsonBytes(object).slice(1, -1)
}

/** Returns the usage of a response, with its charge. */
export function responseUsage(charge: WireCharge): JsonObject {
  const {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    prompt_tokens_details: inputDetails,
    completion_tokens_details: outputDetails,
    ...rest
  } = wireUsage(charge)
  return {
    input_tokens: input,
    input_tokens_details: inputDetails,
    output_tokens: output,
    output_tokens_details: outputDetails,
    total_tokens: total,
    ...rest,
  }
}

/** Returns the error of a failed response. */
export function responseError(error: CompatError): JsonObject {
  const { code, message, ...rest } = errorObject(error)
  return { code, message, ...rest }
}

/** Returns why a response with this finish reason is incomplete. Undefined if it is complete. */
export function incompleteReason(finishReason: FinishReason | undefined): string | undefined {
  if (finishReason === 'length') return 'max_output_tokens'
  return finishReason === 'content_filter' ? 'content_filter' : undefined
}
