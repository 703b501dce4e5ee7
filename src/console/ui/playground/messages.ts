import type { Message } from './call-body.js'
import type { Reply } from './reply-reader.js'
import type { Turn } from './turn.js'

/**
 * The turns, and what is `said` after them, as they go into the next request. Of a call that failed before anything was
 * said, nothing does; nor do calls of tools that were not answered, with which providers refuse every request.
 */
export function messagesOf(turns: readonly Turn[], said: readonly Message[] = []): readonly Message[] {
  const messages: Message[] = []
  for (const [at, { message, reply, state }] of turns.entries()) {
    if (reply === undefined) {
      messages.push(message)
      continue
    }
    const isAnswered = (turns[at + 1]?.message ?? said[0])?.role === 'tool'
    const told = isAnswered ? reply : { ...reply, toolCalls: [] }
    if (hasSaid(told)) messages.push(replyMessage(told))
    // What is at fault would fail every call after it, and what is not is written again.
    else if (state === 'failed' && !hasSaid(reply) && messages.at(-1)?.role === 'user') messages.pop()
  }
  return [...messages, ...said]
}

/** What was asked last, where its call failed before anything was said. */
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
    ...(refusal === '' ? {} : { refusal }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

/** What would be sent now; where nothing is written yet, what was sent last. */
export function sampleMessages(turns: readonly Turn[], draft: string): readonly Message[] {
  if (draft.trim() !== '') return messagesOf(turns, [{ role: 'user', content: draft }])
  const said = messagesOf(turns)
  if (said.length === 0) return [{ role: 'user', content: 'Hello!' }]
  return said.slice(0, said.findLastIndex(({ role }) => role !== 'assistant') + 1)
}
