import type { ConversationRequest, Instructions, Part, TextPart, Turn } from './conversation.js'
import { type CallsAndResults, NO_RESULT, orphanWords, settleResults } from './results.js'

const plainText = (text: string): TextPart => ({ type: 'text', text, cache: false })

const CALLS: CallsAndResults<Turn> = {
  callsOf: (turn) => (turn.role === 'assistant' ? turn.toolCalls.map(({ id }) => id) : []),
  resultOf: (turn) => (turn.role === 'tool' ? turn.toolCallId : undefined),
  missing: (id) => ({
    role: 'tool',
    toolCallId: id,
    content: [plainText(NO_RESULT)],
    isError: true,
  }),
  saidBy: ({ content }) => content.map((part) => (part.type === 'text' ? part.text : part.source)),
  orphan: ({ content }, id) => ({
    role: 'user',
    content: [plainText(orphanWords(id)), ...content],
  }),
}

/** Returns a request with the results of calls right behind the turn of their calls. See {@link settleResults}. */
export function settled(request: ConversationRequest): ConversationRequest {
  const turns = settleResults(request.turns, CALLS)
  return turns === request.turns ? request : Object.assign({}, request, { turns })
}

/** Returns turns without places up to which the provider may cache the prompt. */
export function unmarked(turns: readonly Turn[]): readonly Turn[] {
  return turns.map((turn): Turn => {
    switch (turn.role) {
      case 'assistant': {
        const toolCalls = turn.toolCalls.map(({ cache: _, ...call }) => call)
        return { ...turn, content: turn.content.map(withoutMark), toolCalls }
      }
      case 'system':
      case 'developer':
        return { ...turn, content: turn.content.map(withoutMark) }
      default:
        return { ...turn, content: turn.content.map(withoutMark) }
    }
  })
}

function withoutMark<Kind extends Part>(part: Kind): Kind {
  return part.cache ? { ...part, cache: false } : part
}

export function isInstructions(turn: Turn): turn is Instructions {
  return turn.role === 'system' || turn.role === 'developer'
}
