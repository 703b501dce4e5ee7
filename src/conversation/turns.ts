import type { Instructions, TextPart, Turn } from './conversation.js'
import { type CallsAndResults, NO_RESULT, orphanWords, settleResults } from './results.js'

const plainText = (text: string): TextPart => ({ type: 'text', text, cache: false })

const CALLS: CallsAndResults<Turn> = {
  callsOf: (turn) => (turn.role === 'assistant' ? turn.toolCalls.map(({ id }) => id) : []),
  resultOf: (turn) => (turn.role === 'tool' ? turn.toolCallId : undefined),
  missing: (id) => ({
    role: 'tool',
    param: 'messages',
    toolCallId: id,
    content: [plainText(NO_RESULT)],
    isError: true,
  }),
  saidBy: ({ content }) => content.map((part) => (part.type === 'text' ? part.text : part.source)),
  orphan: ({ content, param }, id) => ({
    role: 'user',
    param,
    content: [plainText(orphanWords(id)), ...content],
  }),
}

/** Puts the results of calls right behind the turn of their calls. See {@link settleResults}. */
export function settledTurns(turns: readonly Turn[]): readonly Turn[] {
  return settleResults(turns, CALLS)
}

export function isInstructions(turn: Turn): turn is Instructions {
  return turn.role === 'system' || turn.role === 'developer'
}
