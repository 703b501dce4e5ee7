import type { Message } from './call-body.js'
import type { Turn } from './use-conversation.js'

/** The turns as they go into the next request. Of a call that failed before it said anything, nothing does. */
export function messagesOf(turns: readonly Turn[]): readonly Message[] {
  return turns.flatMap(({ message, reply }) => {
    if (reply === undefined) return [message]
    const { text, refusal, toolCalls } = reply
    if (text === '' && refusal === '' && toolCalls.length === 0) return []
    const calls = toolCalls.map(({ id, name, arguments: given }) => ({
      id,
      type: 'function',
      function: { name, arguments: given },
    }))
    return [
      {
        role: 'assistant',
        content: text === '' && refusal !== '' ? null : text,
        ...(refusal === '' ? {} : { refusal }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      },
    ]
  })
}

/** What would be sent now; where nothing is written yet, what was sent last. */
export function sampleMessages(turns: readonly Turn[], draft: string): readonly Message[] {
  const said = messagesOf(turns)
  if (draft.trim() !== '') return [...said, { role: 'user', content: draft }]
  if (said.length === 0) return [{ role: 'user', content: 'Hello!' }]
  return said.slice(0, said.findLastIndex(({ role }) => role !== 'assistant') + 1)
}
