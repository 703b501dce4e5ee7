import type { Json } from '../conversations/shape.js'

type Conversation = readonly unknown[]

/** A request without its marks of what to cache, which move from turn to turn and are no part of the prompt. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => name !== 'cache_control')
  return Object.fromEntries(members.map(([name, member]) => [name, withoutMarks(member)]))
}

/** A text is the same prompt as a list of this one part. */
function inParts(message: Json): Json {
  const { content } = message
  return typeof content === 'string' ? { ...message, content: [{ type: 'text', text: content }] } : message
}

/** What a provider caches of a request: all of it as text, in the order in which it was written. */
function promptOf(body: unknown): { readonly settings: Json; readonly conversation: Conversation } {
  const { input, messages, ...settings } = withoutMarks(body) as Json
  const said = (input ?? messages) as readonly Json[]
  return { settings, conversation: said.map((message) => JSON.stringify(inParts(message))) }
}

/** Where the prompt of a turn differs from the beginning of the next one, so that no cache has it. Undefined if nowhere. */
export function firstChange(body: unknown, next: unknown): string | undefined {
  const [before, after] = [promptOf(body), promptOf(next)]
  const changed = Object.keys({ ...before.settings, ...after.settings }).find(
    (name) => JSON.stringify(before.settings[name]) !== JSON.stringify(after.settings[name]),
  )
  if (changed !== undefined) return changed
  const position = before.conversation.findIndex((message, at) => message !== after.conversation[at])
  return position < 0 ? undefined : `message ${position}: ${before.conversation[position]}`
}
