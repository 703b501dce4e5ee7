import type { CompatError } from '../../../base/errors.js'
import type { ReplyParts } from '../../../contracts/operation.js'
import { errorObject } from '../../../protocol/error-body.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { type WireCharge, wireUsage } from '../../../protocol/wire-usage.js'
import type { CallersItems } from '../recall/recent-items.js'
import type { AskedResponse } from '../request/read-request.js'

/** A reply and the request that it answers. */
export interface AboutResponse {
  readonly parts: ReplyParts
  /** Undefined if nothing is kept of replies. */
  readonly recent: CallersItems | undefined
  readonly response: AskedResponse
}

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** The state of a response, as its events and its body show it. */
export interface ResponseState {
  readonly status: ResponseStatus
  /** Undefined if it is written apart. */
  readonly output?: readonly JsonObject[]
  readonly usage?: JsonObject
  readonly error?: JsonObject
  /** Why it is incomplete. */
  readonly reason?: string | undefined
}

const DEFAULT_FORMAT = Object.freeze({ type: 'text' })

/** Returns a response object, with every field that its specification requires. */
export function responseObject({ parts, response }: AboutResponse, state: ResponseState): JsonObject {
  const { model, settings } = response
  const { parameters, reasoning, text } = settings
  return {
    id: parts.id,
    object: 'response',
    created_at: parts.created,
    completed_at: null,
    status: state.status,
    background: false,
    error: state.error ?? null,
    incomplete_details: state.reason === undefined ? null : { reason: state.reason },
    instructions: settings.instructions ?? null,
    max_output_tokens: settings.maxOutputTokens ?? null,
    max_tool_calls: null,
    model,
    output: state.output,
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
    usage: state.usage ?? null,
    user: response.user ?? null,
    metadata: settings.metadata ?? {},
  }
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

/** Returns why a response with a finish reason is incomplete, or undefined if it is complete. */
export function incompleteReason(finishReason: unknown): string | undefined {
  if (finishReason === 'length') return 'max_output_tokens'
  return finishReason === 'content_filter' ? 'content_filter' : undefined
}
