import type {
  Answer,
  CallSignature,
  MediaPart,
  MediaSource,
  Part,
  TextPart,
  Thought,
  ThoughtPiece,
  ToolCall,
  ToolResult,
  Turn,
} from '../../../conversation/conversation.js'
import { isSignatureOfCall } from '../../../conversation/thoughts.js'
import { exactTextOf } from '../../../protocol/exact-data.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import type { MessagesRequest } from '../../../protocol/messages-request.js'
import { readPieces, readSealed } from '../reasoning/thoughts.js'
import { blocksOf, isThinking, signatureOf } from './blocks.js'

/**
 * Reads the messages of a request as a conversation.
 *
 * - The system prompt becomes the first turn. The results of tools become turns of their own, before the rest of their
 *   message.
 * - Documents of text become text. Other documents become files.
 */
export function readTurns({ messages, system }: MessagesRequest): readonly Turn[] {
  const turns: Turn[] = []
  const called = new Set<unknown>()
  const instructions = readTexts(blocksOf(system), 'system')
  if (instructions.length > 0) turns.push({ role: 'system', content: instructions })
  for (const [position, { content, role }] of messages.entries()) {
    const blocks = blocksOf(content)
    const param = `messages.${position}.content`
    if (role !== 'assistant') readMessage(role === 'user', blocks, param, called, turns)
    else {
      for (const { id, type } of blocks) if (type === 'tool_use') called.add(id)
      const answer = readAnswer(blocks, param)
      if (answer !== undefined) turns.push(answer)
    }
  }
  return turns
}

/**
 * Adds the turns of a user's or a system's message: first the results of calls, and then the rest. A result without a call
 * stays at its place.
 */
function readMessage(
  isUsers: boolean,
  blocks: readonly JsonObject[],
  param: string,
  called: ReadonlySet<unknown>,
  turns: Turn[],
): void {
  const isCalled = ({ tool_use_id: id, type }: JsonObject) => type === 'tool_result' && called.has(id)
  for (const [at, block] of blocks.entries()) if (isCalled(block)) turns.push(readResult(block, param, at))
  let parts: Part[] = []
  const addParts = () => {
    if (parts.length > 0) {
      turns.push(
        isUsers ? { role: 'user', content: parts } : { role: 'system', content: parts.filter(isTextPart) },
      )
    }
    parts = []
  }
  for (const [at, block] of blocks.entries()) {
    if (isCalled(block)) continue
    if (block.type !== 'tool_result') {
      addBlock(block, param, at, parts)
      continue
    }
    addParts()
    turns.push(readResult(block, param, at))
  }
  addParts()
}

const isTextPart = (part: Part): part is TextPart => part.type === 'text'

function readResult(block: JsonObject, within: string, position: number): ToolResult {
  const parts: Part[] = []
  for (const [at, inner] of blocksOf(block.content).entries()) {
    addBlock(inner, `${within}.${position}.content`, at, parts)
  }
  const content = parts.length > 1 && parts.every(isTextPart) ? [joined(parts, '\n\n')] : parts
  if (block.cache_control !== undefined) markLast(content)
  return {
    role: 'tool',
    toolCallId: block.tool_use_id as string,
    content,
    isError: block.is_error === true,
  }
}

/** Returns texts as one part, with the mark of any of them. */
function joined(parts: readonly TextPart[], between: string): TextPart {
  return {
    type: 'text',
    text: parts.map(({ text }) => text).join(between),
    cache: parts.some(({ cache }) => cache),
  }
}

function markLast(parts: Part[]): void {
  const last = parts.at(-1)
  if (last !== undefined) parts[parts.length - 1] = { ...last, cache: true }
}

/** Returns undefined for a reply without content, which strict providers refuse. */
function readAnswer(blocks: readonly JsonObject[], param: string): Answer | undefined {
  const parts: Part[] = []
  const thoughts: Thought[] = []
  const calls: JsonObject[] = []
  for (const [at, block] of blocks.entries()) {
    if (block.type === 'tool_use') calls.push(block)
    else if (!isThinking(block)) addBlock(block, param, at, parts)
    else {
      const thought = readThought(block)
      if (thought !== undefined) thoughts.push(thought)
    }
  }
  if (parts.length + thoughts.length + calls.length === 0) return undefined
  const texts = parts.filter(isTextPart)
  const signatures = signaturesIn(thoughts)
  return {
    role: 'assistant',
    content: texts.length > 1 ? [joined(texts, '')] : texts,
    toolCalls: calls.map((block) => readCall(block, signatures)),
    thoughts: signatures === undefined ? thoughts : thoughts.map(withoutSignatures),
  }
}

function readThought(block: JsonObject): Thought | undefined {
  const sealed = readSealed(signatureOf(block))
  if (sealed === undefined) return undefined
  const { maker, pieces: encoded, signature } = sealed
  const text = isText(block.thinking) ? block.thinking : ''
  if (encoded !== undefined) {
    // A piece without text of its own has that of the block.
    const pieces = readPieces(encoded).map((piece) =>
      piece.kind === 'text' && !isText(piece.text) && text !== '' ? { ...piece, text } : piece,
    )
    return { text, pieces, maker }
  }
  const piece: ThoughtPiece =
    block.type === 'redacted_thinking'
      ? { kind: 'encrypted', ...(signature !== undefined && { data: signature }) }
      : { kind: 'text', text, ...(signature !== undefined && { signature }) }
  return { text, pieces: [piece], maker }
}

/** Returns the signatures that this service made to reasoning, by the ids of their calls. Undefined if there are none. */
function signaturesIn(thoughts: readonly Thought[]): ReadonlyMap<unknown, CallSignature> | undefined {
  let signatures: Map<unknown, CallSignature> | undefined
  for (const { maker, pieces } of thoughts) {
    for (const piece of pieces) {
      if (!isSignatureOfCall(piece)) continue
      signatures ??= new Map()
      const { data: bytes, id } = piece
      if (bytes !== undefined && !signatures.has(id)) signatures.set(id, { bytes, ...(maker && { maker }) })
    }
  }
  return signatures
}

function withoutSignatures(thought: Thought): Thought {
  return { ...thought, pieces: thought.pieces.filter((piece) => !isSignatureOfCall(piece)) }
}

function readCall(
  { cache_control: mark, id, input, name }: JsonObject,
  signatures: ReadonlyMap<unknown, CallSignature> | undefined,
): ToolCall {
  const signature = signatures?.get(id)
  return {
    id: id as string,
    name: name as string,
    kind: 'function',
    input: isObject(input) ? exactTextOf(input) : '{}',
    ...(signature !== undefined && { signature }),
    ...(mark !== undefined && { cache: true as const }),
  }
}

/** Reads blocks that have text alone. */
function readTexts(blocks: readonly JsonObject[], param: string): readonly TextPart[] {
  const parts: Part[] = []
  for (const [at, block] of blocks.entries()) addBlock(block, param, at, parts)
  return parts.filter(isTextPart)
}

/** Adds the parts of a block of text or media. Empty text is omitted, since providers refuse it. */
function addBlock(block: JsonObject, within: string, position: number, parts: Part[]): void {
  const before = parts.length
  const { source, text, title, type } = block
  if (type === 'text') addText([text], parts)
  else if (type === 'image') {
    if (isObject(source)) parts.push(readImage(source, `${within}.${position}.source`))
  } else if (type === 'document') {
    if (isObject(source)) addDocument(block, source, `${within}.${position}.source`, parts)
  } else if (type === 'search_result') {
    addText([title, source, ...blocksOf(block.content).map((inner) => inner.text)], parts)
  } else {
    // A block that needs the host's permission. A model can still read it as text.
    addText([JSON.stringify(block)], parts)
  }
  if (block.cache_control !== undefined && parts.length > before) markLast(parts)
}

function addText(texts: readonly unknown[], parts: Part[]): void {
  const text = texts.filter(isText).join('\n')
  if (text !== '') parts.push({ type: 'text', text, cache: false })
}

function readSource({ data, file_id: id, media_type: mediaType, type, url }: JsonObject): MediaSource {
  if (type === 'file') return { kind: 'file', id: id as string }
  if (type !== 'base64') return { kind: 'address', address: url as string }
  return { kind: 'inline', mediaType: String(mediaType).toLowerCase(), base64: data as string }
}

function readImage(source: JsonObject, param: string): MediaPart {
  return {
    type: 'media',
    image: true,
    source: readSource(source),
    cache: false,
    param: placeOf(source, param),
  }
}

/** Returns the member that has the media. */
function placeOf({ type }: JsonObject, param: string): string {
  if (type === 'file') return `${param}.file_id`
  return type === 'base64' ? `${param}.data` : `${param}.url`
}

function addDocument({ context, title }: JsonObject, source: JsonObject, param: string, parts: Part[]): void {
  if (source.type === 'text') {
    addText([title, context, source.data], parts)
    return
  }
  if (source.type === 'content') {
    addText([title, context], parts)
    for (const [at, block] of blocksOf(source.content).entries())
      addBlock(block, `${param}.content`, at, parts)
    return
  }
  const isFile = source.type === 'file'
  // A file at the provider has its own name there, so its title becomes text.
  addText(isFile ? [title, context] : [context], parts)
  parts.push({
    type: 'media',
    image: false,
    source: readSource(source),
    ...(!isFile && { filename: isText(title) ? title : 'document.pdf' }),
    cache: false,
    param: placeOf(source, param),
  })
}
