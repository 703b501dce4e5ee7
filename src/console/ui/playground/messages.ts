import type { Message } from './call-body.js'
import type { Reply } from './reply-reader.js'
import type { Turn } from './turn.js'

/**
 * Returns the messages of the next request: the turns, then `said`. Omits a call that failed before anything was said, and
 * tool calls without an answer, since providers refuse every request that contains them.
 */
export function messagesOf(turns: readonly Turn[], said: readonly Message[] = []): readonly Message[] {
  const messages: Message[] = []
  for (const [at, { message, reply, state }] of turns.entries()) {
    if (reply === undefined) {
      messages.push(message)
      continue
    }
    const isAnswered = (turns[at + 1]?.message ?? said[0])?.role === 'tool'
    const kept = isAnswered ? reply : { ...reply, toolCalls: [] }
    if (hasSaid(kept)) messages.push(replyMessage(kept))
    // If the message caused the failure, it would fail every later call. If not, it is in the draft again.
    else if (state === 'failed' && !hasSaid(reply) && messages.at(-1)?.role === 'user') messages.pop()
  }
  return [...messages, ...said]
}

/** Returns the last message of the user if its call failed before anything was said. */
export function unansweredText(turns: readonly Turn[]): string | undefined {
  const [asked, { reply, state } = {}] = turns.slice(-2)
  const isUnanswered = state === 'failed' && reply !== undefined && !hasSaid(reply)
  return isUnanswered && asked?.message.role === 'user' ? String(asked.message.content) : undefined
}

function hasSaid({ text, refusal, toolCalls }: Reply): boolean {
  return text !== '' || refusal !== '' || toolCalls.length > 0
}

function replyMessage({ text, refusal, toolCalls }: Reply): Message {
  const calls = toolCalls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  }))
  return {
    role: 'assistant',
    content: text === '' && refusal !== '' ? null : text,
    ...(refusal !== '' && { refusal }),
    ...(calls.length !== 0 && { tool_calls: calls }),
  }
}

/** Returns the messages that would be sent now or, if nothing is typed, those that were sent last. */
export function sampleMessages(turns: readonly Turn[], draft: string): readonly Message[] {
  if (draft.trim() !== '') return messagesOf(turns, [{ role: 'user', content: draft }])
  const said = messagesOf(turns)
  if (said.length === 0) return [{ role: 'user', content: 'Hello!' }]
  return said.slice(0, said.findLastIndex(({ role }) => role !== 'assistant') + 1)
}
