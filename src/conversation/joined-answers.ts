import type { Answer, TextPart, Thought, ToolCall, Turn } from './conversation.js'

interface Draft extends Answer {
  readonly content: TextPart[]
  readonly toolCalls: ToolCall[]
  readonly thoughts: Thought[]
}

/** Collects turns. Parts of one reply that come one after the other become one answer. */
export class JoinedAnswers {
  readonly turns: Turn[] = []
  /** The last turn, if it is a copy. */
  private open: Draft | undefined

  add(turn: Turn): void {
    if (turn.role !== 'assistant') {
      this.turns.push(turn)
      return
    }
    const { content, thoughts, toolCalls } = turn
    if (content.length + thoughts.length + toolCalls.length === 0) return
    const last = this.turns.at(-1)
    if (last?.role !== 'assistant' || !goesOn(last, turn)) {
      this.turns.push(turn)
      return
    }
    const draft = this.draftOf(last)
    for (const thought of thoughts) draft.thoughts.push(thought)
    for (const part of content) draft.content.push(part)
    for (const call of toolCalls) draft.toolCalls.push(call)
  }

  /** Returns the last turn as one that can be changed. */
  private draftOf(last: Answer): Draft {
    if (last === this.open) return this.open
    const { content, thoughts, toolCalls } = last
    this.open = {
      role: 'assistant',
      content: [...content],
      thoughts: [...thoughts],
      toolCalls: [...toolCalls],
    }
    this.turns[this.turns.length - 1] = this.open
    return this.open
  }
}

/**
 * Whether an answer goes on with another. A reply begins with its thoughts. Two texts in a row stay two, unless a call is
 * between them: the result must directly follow the message with its call.
 */
function goesOn({ content, thoughts: _, toolCalls }: Answer, next: Answer): boolean {
  if (next.thoughts.length > 0) return content.length + toolCalls.length === 0
  return next.content.length === 0 || content.length === 0 || toolCalls.length > 0
}
