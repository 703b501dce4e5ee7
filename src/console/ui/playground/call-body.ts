import { Problem } from '../base/problem.js'
import { inexactNumber } from './exact-json.js'

/** The fields beside the conversation, as they were typed. */
export interface Parameters {
  readonly system: string
  readonly temperature: string
  readonly top_p: string
  readonly max_tokens: string
  readonly session_id: string
  readonly tools: string
  readonly more: string
  readonly stream: boolean
}

export const noParameters: Parameters = {
  system: '',
  temperature: '',
  top_p: '',
  max_tokens: '',
  session_id: '',
  tools: '',
  more: '',
  stream: true,
}

export type Message = Readonly<Record<string, unknown>> & { readonly role: string }

export type CallBody = Readonly<Record<string, unknown>>

/** Returns the request. Throws a {@link Problem} that names the invalid field. */
export function callBody(model: string, messages: readonly Message[], parameters: Parameters): CallBody {
  const { system, stream, tools, more, session_id } = parameters
  return {
    model,
    messages: system.trim() === '' ? messages : [{ role: 'system', content: system }, ...messages],
    ...(stream && { stream }),
    ...numberOf(parameters, 'temperature'),
    ...numberOf(parameters, 'top_p'),
    ...maxTokensOf(parameters),
    ...(session_id.trim() !== '' && { session_id: session_id.trim() }),
    ...(tools.trim() !== '' && {
      tools: jsonOf(tools, 'tools', Array.isArray, 'a list: [{ "type": "function", … }]'),
    }),
    ...moreOf(more),
  }
}

function moreOf(text: string): CallBody {
  if (text.trim() === '') return {}
  const isObject = (value: unknown): value is CallBody =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  return jsonOf(text, 'more', isObject, 'an object: { "seed": 7 }')
}

/** Accepts only digits: to some people `1.000` is a thousand. */
function maxTokensOf({ max_tokens }: Parameters): CallBody {
  const text = max_tokens.trim()
  if (text === '') return {}
  if (!/^\d{1,15}$/.test(text)) {
    throw new Problem('This must be a whole number, or empty.', { field: 'max_tokens' })
  }
  return { max_tokens: Number(text) }
}

function numberOf(parameters: Parameters, name: 'temperature' | 'top_p'): CallBody {
  const text = parameters[name].trim()
  if (text === '') return {}
  const value = Number(text)
  if (!Number.isFinite(value)) throw new Problem('This must be a number, or empty.', { field: name })
  return { [name]: value }
}

function jsonOf<Value>(
  text: string,
  field: string,
  isRight: (value: unknown) => value is Value,
  wanted: string,
): Value {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Problem(`This is not JSON: ${(error as Error).message}`, { field })
  }
  if (!isRight(value)) throw new Problem(`This must be ${wanted}`, { field })
  const inexact = inexactNumber(text)
  if (inexact !== undefined) {
    throw new Problem(`${inexact} cannot be sent as it is: it has more digits than a number can hold.`, {
      field,
    })
  }
  return value
}
