import type { Objection } from '../rule.js'
import { first, isObject, type Json, objects } from '../shape.js'

export const callsOf = (message: Json | undefined) => objects(message?.tool_calls)
export const idsOf = (message: Json | undefined) => callsOf(message).map(({ id }) => String(id))

/** The answers of tools that stand right behind a message. */
export function resultsBehind(messages: readonly Json[], n: number): readonly Json[] {
  const end = messages.findIndex(({ role }, at) => at > n && role !== 'tool')
  return messages.slice(n + 1, end < 0 ? undefined : end)
}

/** The message before the answers of tools among which this one stands. */
export const caller = (messages: readonly Json[], n: number) =>
  messages.slice(0, n).findLast(({ role }) => role !== 'tool')

export function unanswered(
  body: Json,
  say: (ids: readonly string[], n: number) => Objection,
): Objection | undefined {
  const messages = objects(body.messages)
  return first(messages, (message, n) => {
    const answered = resultsBehind(messages, n).map(({ tool_call_id: id }) => id)
    const missing = idsOf(message).filter((id) => !answered.includes(id))
    return missing.length > 0 ? say(missing, n) : undefined
  })
}

export const UNANSWERED =
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."

export const eachCall = (body: Json, find: (call: Json, place: string) => Objection | undefined) =>
  first(objects(body.messages), (message, n) =>
    first(callsOf(message), (one, at) => find(one, `messages[${n}].tool_calls[${at}]`)),
  )

export const eachTool = (body: Json, find: (tool: Json, place: string) => Objection | undefined) =>
  first(objects(body.tools), ({ function: tool }, n) =>
    isObject(tool) ? find(tool, `tools[${n}].function`) : undefined,
  )

export const hasTools = ({ tools, functions }: Json) =>
  [tools, functions].some((list) => objects(list).length > 0)

export const isBlank = (content: unknown) =>
  content === undefined ||
  content === null ||
  content === '' ||
  (Array.isArray(content) && content.length === 0)

export const eachPart = (body: Json, find: (part: Json, place: string) => Objection | undefined) =>
  first(objects(body.messages), ({ content }, n) =>
    first(objects(content), (part, at) => find(part, `messages[${n}].content[${at}]`)),
  )

// What the examples of rules are made of.

export const USER = { role: 'user', content: 'Hi' }
export const asked = (more: Json): Json => ({ model: 'm', messages: [USER], ...more })
export const said = (...messages: readonly Json[]): Json => ({ model: 'm', messages: [USER, ...messages] })
export const call = (id: string, name = 'look'): Json => ({
  id,
  type: 'function',
  function: { name, arguments: '{}' },
})
export const calls = (...all: readonly Json[]): Json => ({ role: 'assistant', content: '', tool_calls: all })
export const result = (id: string, content: unknown = 'sun'): Json => ({
  role: 'tool',
  tool_call_id: id,
  content,
})
export const look = (parameters: Json, more: Json = {}): Json => ({
  tools: [{ type: 'function', function: { name: 'look', parameters, ...more } }],
})
export const LOOK = look({ type: 'object', properties: {} })
export const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
