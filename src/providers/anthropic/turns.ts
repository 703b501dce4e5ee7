import { CallIds, idForClaude } from '../../conversation/call-ids.js'
import type { Answer, Instructions, MediaPart, Part, Turn } from '../../conversation/conversation.js'
import { isClaude, piecesOf, reasoningOf } from '../../conversation/thoughts.js'
import { isInstructions } from '../../conversation/turns.js'
import { unsupported } from '../../conversation/unsupported.js'
import { sameId } from '../openai-input/call-ids.js'
import { inputOf } from '../openai-input/call-inputs.js'
import { readSource } from '../openai-input/media.js'
import { isOfClaude, signedThoughts } from '../openai-input/signed-thoughts.js'
import type { NativeBlock, NativeTurn } from './wire.js'

/**
 * Writes a conversation as the system prompt and turns of the Messages API.
 *
 * - All system and developer messages, in any position, become blocks of the one system prompt, in order.
 * - Adjacent messages of one role form one turn. Tool results belong to a user's turn and come before its other
 *   content.
 * - Claude models get reasoning back only with its signature, from `reasoning_details`. They accept no other reasoning,
 *   and none from another provider. Models of other providers sign nothing, and some require all reasoning.
 * - Calls may come from another provider. For Claude models, their ids are reduced to the characters that the
 *   API accepts. A repeated id is replaced, since the API accepts each only once.
 * - Text of white space alone is omitted, and so is a message without content, such as an empty reply, and the white space
 *   at the end of a reply that the model continues: the API rejects all three.
 */
export function toTurns(
  conversation: readonly Turn[],
  model: string,
  sendsThinking = true,
): { system: NativeBlock[]; turns: NativeTurn[] } {
  const ids = new CallIds(isClaude(model) ? idForClaude : sameId)
  const toThoughts = isClaude(model) ? toSignedBlocks : toThinkingBlocks
  const system: NativeBlock[] = []
  const turns: NativeTurn[] = []
  for (const message of conversation) {
    if (isInstructions(message)) {
      system.push(...toContent(message.content))
      continue
    }
    const blocks = toBlocks(message, ids, sendsThinking ? toThoughts : () => [])
    if (blocks.length === 0) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    let turn = turns.at(-1)
    if (turn?.role !== role) {
      turn = { role, content: [] }
      turns.push(turn)
    }
    turn.content.push(...blocks)
  }
  for (const turn of turns) if (turn.role === 'user') turn.content = resultsFirst(turn.content)
  const last = turns.at(-1)
  if (last?.role === 'assistant') last.content = withoutSpaceAtEnd(last.content)
  return { system, turns }
}

/** Whether the last answered calls do not follow a thought. With a thinking budget, the API requires one. */
export function lacksThought(turns: readonly NativeTurn[]): boolean {
  let first: NativeTurn | undefined
  for (let at = turns.length - 1; at > 0 && turns[at]!.content.some(isResult); at -= 2) first = turns[at - 1]
  return first !== undefined && !isThinking(first.content[0])
}

function isThinking(block: NativeBlock | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking'
}

function toBlocks(
  message: Exclude<Turn, Instructions>,
  ids: CallIds,
  toThoughts: (message: Answer) => NativeBlock[],
): NativeBlock[] {
  const content = toContent(message.content)
  switch (message.role) {
    case 'user':
      return content
    case 'tool':
      return [
        {
          type: 'tool_result',
          tool_use_id: ids.ofResult(message.toolCallId),
          ...(content.length !== 0 && { content }),
          ...(message.isError && { is_error: true }),
        },
      ]
    case 'assistant':
      return [
        ...toThoughts(message),
        ...content,
        ...message.toolCalls.map((call) => ({
          type: 'tool_use',
          id: ids.ofCall(call.id),
          name: call.name,
          input: inputOf(call),
          ...(call.cache && CACHE),
        })),
      ]
  }
}

function toContent(parts: readonly Part[]): NativeBlock[] {
  return parts.filter((part) => part.type !== 'text' || part.text.trim() !== '').map(toBlock)
}

function toSignedBlocks(answer: Answer): NativeBlock[] {
  return signedThoughts(piecesOf(answer), isOfClaude).map((thought) =>
    'encrypted' in thought
      ? { type: 'redacted_thinking', data: thought.encrypted }
      : { type: 'thinking', thinking: thought.text, signature: thought.signature },
  )
}

function toThinkingBlocks(message: Answer): NativeBlock[] {
  const signed = toSignedBlocks(message)
  const reasoning = reasoningOf(message)
  if (signed.length > 0 || reasoning === undefined) return signed
  return [{ type: 'thinking', thinking: reasoning, signature: '' }]
}

function withoutSpaceAtEnd(content: NativeBlock[]): NativeBlock[] {
  const last = content.at(-1)
  if (last?.type !== 'text') return content
  return [...content.slice(0, -1), { ...last, text: String(last.text).trimEnd() }]
}

const isResult = (block: NativeBlock) => block.type === 'tool_result'

function resultsFirst(content: NativeBlock[]): NativeBlock[] {
  return [...content.filter(isResult), ...content.filter((block) => !isResult(block))]
}

const CACHE = { cache_control: { type: 'ephemeral' } }

/** Converts one part of a message to a content block: text, an image, a PDF or a plain text document. */
function toBlock(part: Part): NativeBlock {
  const cache = part.cache ? CACHE : {}
  if (part.type === 'text') return { type: 'text', text: part.text, ...cache }
  return { ...toMediaBlock(part), ...cache }
}

function toMediaBlock(part: MediaPart): NativeBlock {
  const source = readSource(part)
  const title = part.filename === undefined ? {} : { title: part.filename }
  if (source.kind === 'url') {
    const address = { type: 'url', url: source.url }
    return part.image ? { type: 'image', source: address } : { type: 'document', source: address, ...title }
  }
  const { mediaType, base64 } = source
  if (mediaType.startsWith('image/')) {
    const name = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
    return { type: 'image', source: { type: 'base64', media_type: name, data: base64 } }
  }
  if (mediaType === 'application/pdf') {
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data: base64 }, ...title }
  }
  if (mediaType === 'text/plain') {
    const data = Buffer.from(base64, 'base64').toString('utf8')
    return { type: 'document', source: { type: 'text', media_type: mediaType, data }, ...title }
  }
  throw unsupported(part.param, `${part.param}: this provider accepts only images, PDFs and plain text.`)
}
