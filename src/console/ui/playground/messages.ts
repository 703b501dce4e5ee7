import type { Message } from './call-body.js'
import type { Reply } from './reply-reader.js'
import type { Turn } from './use-conversation.js'

/** The turns as they go into the next request. Of a call that failed before anything was said, nothing does. */
export function messagesOf(turns: readonly Turn[]): readonly Message[] {
  const messages: Message[] = []
  for (const turn of turns) {
    if (turn.reply === undefined) messages.push(turn.message)
    else if (hasSaid(turn.reply)) messages.push(replyMessage(turn.reply))
    // What is at fault would fail every call after it, and what is not is written again.
    else if (turn.state === 'failed' && messages.at(-1)?.role === 'user') messages.pop()
  }
  return messages
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
  const said = messagesOf(turns)
  if (draft.trim() !== '') return [...said, { role: 'user', content: draft }]
  if (said.length === 0) return [{ role: 'user', content: 'Hello!' }]
  return said.slice(0, said.findLastIndex(({ role }) => role !== 'assistant') + 1)
}
