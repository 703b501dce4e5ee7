import type { ProviderRequest } from '../../contracts/providers.js'
import { unsupported } from '../../conversation/unsupported.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ReasoningEffort = (typeof EFFORTS)[number]

export interface InputReasoning {
  readonly effort?: ReasoningEffort
  readonly maxTokens?: number
  /** The request field that asked for it, for errors. */
  readonly param: string
}

export type InputResponseFormat =
  | { readonly type: 'json' }
  | {
      readonly type: 'json-schema'
      readonly schema: JsonObject
      readonly name?: string
      readonly description?: string
      readonly strict: boolean
    }

/** Returns the output token limit that applies: `max_completion_tokens`, or else `max_tokens`, unchecked. */
export function readMaxTokens(request: ProviderRequest): unknown {
  return request.max_completion_tokens ?? request.max_tokens ?? undefined
}

/** Reads `stop`: a string or an array of strings. */
export function readStop(request: ProviderRequest): readonly string[] {
  const { stop } = request
  if (stop === undefined || stop === null) return []
  const sequences: unknown[] = Array.isArray(stop) ? stop : [stop]
  return sequences.map((sequence) => {
    if (typeof sequence !== 'string')
      throw unsupported('stop', 'stop must be a string or an array of strings.')
    return sequence
  })
}

/** Reads `response_format`. Returns `undefined` if plain text is asked for. */
export function readResponseFormat(request: ProviderRequest): InputResponseFormat | undefined {
  const format = request.response_format
  if (format === undefined || format === null) return undefined
  if (isObject(format)) {
    if (format.type === 'text') return undefined
    // Some clients put a schema beside json_object.
    if (format.type === 'json_object' && !isObject(format.schema)) return { type: 'json' }
    const definition = format.type === 'json_object' ? format : format.json_schema
    if (format.type === 'json_object' || format.type === 'json_schema') {
      if (isObject(definition) && isObject(definition.schema)) {
        return {
          type: 'json-schema',
          schema: definition.schema,
          strict: definition.strict === true,
          ...(typeof definition.name === 'string' && { name: definition.name }),
          ...(typeof definition.description === 'string' && { description: definition.description }),
        }
      }
      throw unsupported('response_format.json_schema', 'response_format.json_schema needs a "schema".')
    }
  }
  throw unsupported(
    'response_format.type',
    'response_format.type must be "text", "json_object" or "json_schema".',
  )
}

/** Reads `reasoning_effort` and `reasoning` (`effort`, `max_tokens`, `enabled`). The latter takes precedence. */
export function readReasoning(request: ProviderRequest): InputReasoning | undefined {
  const { reasoning } = request
  if (reasoning !== undefined && reasoning !== null) {
    if (!isObject(reasoning)) throw unsupported('reasoning', 'reasoning must be an object.')
    const read = readReasoningObject(reasoning)
    if (read !== undefined) return read
  }
  const effort = request.reasoning_effort
  if (effort === undefined || effort === null) return undefined
  return { effort: readEffort(effort, 'reasoning_effort'), param: 'reasoning_effort' }
}

/** Members that are accepted. A summary only changes the shape of the reply. */
const REASONING_MEMBERS = new Set(['effort', 'max_tokens', 'enabled', 'summary', 'generate_summary'])

function readReasoningObject(reasoning: JsonObject): InputReasoning | undefined {
  for (const field of Object.keys(reasoning)) {
    const value = reasoning[field]
    if (!REASONING_MEMBERS.has(field) && value !== null && !(field === 'exclude' && value === false)) {
      throw unsupported(`reasoning.${field}`, `reasoning.${field} is not supported by this provider.`)
    }
  }
  if (reasoning.enabled === false) return { effort: 'none', param: 'reasoning.enabled' }
  const maxTokens = reasoning.max_tokens
  if (maxTokens !== undefined && maxTokens !== null) {
    if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens < 1) {
      throw unsupported('reasoning.max_tokens', 'reasoning.max_tokens must be a positive integer.')
    }
    return { maxTokens, param: 'reasoning.max_tokens' }
  }
  if (reasoning.effort !== undefined && reasoning.effort !== null) {
    return { effort: readEffort(reasoning.effort, 'reasoning.effort'), param: 'reasoning.effort' }
  }
  return reasoning.enabled === true ? { effort: 'medium', param: 'reasoning.enabled' } : undefined
}

function readEffort(value: unknown, param: string): ReasoningEffort {
  const effort = EFFORTS.find((known) => known === value)
  if (effort === undefined) throw unsupported(param, `${param} must be one of ${EFFORTS.join(', ')}.`)
  return effort
}
