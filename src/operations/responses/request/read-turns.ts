import { CompatError } from '../../../base/errors.js'
import type {
  Answer,
  CallSignature,
  Instructions,
  Maker,
  MediaPart,
  Part,
  TextPart,
  Thought,
  ThoughtPiece,
  ToolCall,
  Turn,
} from '../../../conversation/conversation.js'
import { JoinedAnswers } from '../../../conversation/joined-answers.js'
import { isCallSignature, isSignatureOfCall, readDetail } from '../../../conversation/thoughts.js'
import { mendArguments } from '../../../protocol/call-arguments.js'
import { InnerJson } from '../../../protocol/inner-json.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import { MAX_CALLS, MAX_DETAILS } from '../../../protocol/request-fields/messages.js'
import type { SealedThoughts } from './sealed-reasoning.js'

/**
 * Reads checked items as a conversation. The reasoning, text and calls of one reply are separate items, and become one
 * turn. Throws a `CompatError` of status 400 if no provider accepts them.
 */
export function readTurns(
  instructions: string | undefined,
  items: readonly JsonObject[],
  thoughts: SealedThoughts,
): readonly Turn[] {
  const reader = new ItemReader(thoughts)
  if (instructions !== undefined) reader.add({ role: 'system', content: [toText(instructions)] })
  for (const [position, item] of items.entries()) reader.addItem(item, `input.${position}`)
  const turns = reader.finished()
  if (turns.length > 0 && turns.every(isWithinLimits)) return turns
  throw refused()
}

function refused(): CompatError {
  return new CompatError('invalid_request', 'input has an item that no provider accepts.', {
    param: 'input',
  })
}

/** Replies have the limits of those of a chat. */
function isWithinLimits(turn: Turn): boolean {
  if (turn.role !== 'assistant') return true
  const { thoughts, toolCalls } = turn
  const pieces = thoughts.reduce((sum, thought) => sum + thought.pieces.length, 0)
  return toolCalls.length <= MAX_CALLS && pieces <= MAX_DETAILS
}

const NONE: readonly never[] = []

class ItemReader {
  private readonly answers = new JoinedAnswers()
  private readonly innerJson = new InnerJson()
  /** The signatures of calls since the last turn that is no answer. A provider may sign a call after its end. */
  private signatures: Thought[] = []
  /** The position of the first turn after it. */
  private from = 0

  constructor(private readonly sealed: SealedThoughts) {}

  finished(): readonly Turn[] {
    this.signCalls()
    return this.answers.turns
  }

  add(turn: Turn): void {
    this.signCalls()
    this.answers.add(turn)
    this.from = this.answers.turns.length
  }

  /** @param param the field of the request, for errors */
  addItem(item: JsonObject, param: string): void {
    const { arguments: args, call_id: id, content, input, output, role, type } = item
    switch (type) {
      case 'reasoning':
        this.addReasoning(item)
        return
      case 'function_call':
        if (this.innerJson.add(args as string) === 'too-many') throw refused()
        this.addCall(item, 'function', mendArguments(args as string))
        return
      case 'custom_tool_call':
        this.addCall(item, 'custom', input as string)
        return
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.add({
          role: 'tool',
          toolCallId: id as string,
          content: joined(readContent(output, `${param}.output`), '\n\n'),
          isError: false,
        })
        return
    }
    if (role === 'assistant') this.addReply(joined(readText(content), ''), NONE, NONE)
    else if (role === 'user') this.add({ role, content: readContent(content, `${param}.content`) })
    else this.add({ role: role as Instructions['role'], content: joined(readText(content), '\n\n') })
  }

  private addReply(
    content: Answer['content'],
    toolCalls: Answer['toolCalls'],
    thoughts: Answer['thoughts'],
  ): void {
    this.answers.add({ role: 'assistant', content, toolCalls, thoughts })
  }

  private addReasoning({ encrypted_content: sealed, summary }: JsonObject): void {
    const opened = this.sealed.open(sealed)
    if (opened === undefined) return
    const maker = { provider: opened.provider }
    const words = Array.isArray(summary) ? summary.filter(isObject).map(({ text }) => text) : []
    const text = words.join('\n\n')
    const pieces = opened.details.map(readDetail)
    const signatures = pieces.filter(isCallSignature)
    if (signatures.length > 0) this.signatures.push({ text: '', pieces: signatures, maker })
    const others = signatures.length > 0 ? pieces.filter((piece) => !isCallSignature(piece)) : pieces
    if (text === '' && others.length === 0) return
    this.addReply(NONE, NONE, [{ text, pieces: withTextOfSummary(others, text), maker }])
  }

  private addCall({ call_id: id, name }: JsonObject, kind: ToolCall['kind'], input: string): void {
    this.addReply(NONE, [{ id: id as string, name: name as string, kind, input }], NONE)
  }

  private signCalls(): void {
    const { answers, from, signatures } = this
    if (signatures.length === 0) return
    this.signatures = []
    const byCall = new SignaturesByCall(signatures)
    const { turns } = answers
    for (let at = from; at < turns.length; at++) turns[at] = withSignatures(turns[at] as Answer, byCall)
  }
}

/** A signature among the thoughts, with its position there. */
interface Signed {
  readonly position: number
  readonly maker: Maker | undefined
  readonly piece: ThoughtPiece
}

/** The signatures of calls, by the ids of the calls. */
class SignaturesByCall {
  private readonly all = new Map<string | undefined, Signed[]>()

  constructor(thoughts: readonly Thought[]) {
    let position = 0
    for (const { maker, pieces } of thoughts) {
      for (const piece of pieces) {
        const signed = { position: position++, maker, piece }
        const known = this.all.get(piece.id)
        if (known === undefined) this.all.set(piece.id, [signed])
        else known.push(signed)
      }
    }
  }

  /** Removes and returns those of these calls, in order. Each belongs to the first answer with its call. */
  take(calls: readonly ToolCall[]): readonly Signed[] {
    const taken: Signed[] = []
    for (const { id } of calls) {
      for (const signed of this.all.get(id) ?? []) taken.push(signed)
      this.all.delete(id)
    }
    return taken.sort((one, other) => one.position - other.position)
  }
}

/** Puts the signatures that this service made to their calls, and those that a provider made among the thoughts. */
function withSignatures(answer: Answer, signatures: SignaturesByCall): Answer {
  const { thoughts, toolCalls } = answer
  const taken = signatures.take(toolCalls)
  if (taken.length === 0) return answer
  const ofCalls = new Map<string | undefined, CallSignature>()
  const added: Thought[] = []
  for (const { maker, piece } of taken) {
    const { data: bytes, id } = piece
    if (!isSignatureOfCall(piece)) added.push({ text: '', pieces: [piece], ...(maker && { maker }) })
    else if (bytes !== undefined && !ofCalls.has(id)) ofCalls.set(id, { bytes, ...(maker && { maker }) })
  }
  const signed = toolCalls.map((call) => {
    const signature = ofCalls.get(call.id)
    return signature === undefined ? call : { ...call, signature }
  })
  return { ...answer, thoughts: [...thoughts, ...added], toolCalls: signed }
}

/** A signed thought without text of its own has that of the summary. Its provider takes it back only with its text. */
function withTextOfSummary(pieces: readonly ThoughtPiece[], text: string): readonly ThoughtPiece[] {
  const thoughts = pieces.filter(({ kind }) => kind === 'text')
  const [only] = thoughts
  if (thoughts.length !== 1 || isText(only!.text) || text === '') return pieces
  return pieces.map((piece) => (piece === only ? { ...piece, text } : piece))
}

const toText = (text: string): TextPart => ({ type: 'text', text, cache: false })

/** Returns text-only content as one part: many providers accept parts only from a user. */
function joined<Kind extends Part>(parts: readonly Kind[], between: string): readonly (Kind | TextPart)[] {
  if (parts.length < 2 || !parts.every((part) => part.type === 'text' && !part.isRefusal)) return parts
  return [toText(parts.map((part) => (part.type === 'text' ? part.text : '')).join(between))]
}

/** Reads content that has text alone. */
function readText(content: unknown): readonly TextPart[] {
  return readContent(content, '').filter((part) => part.type === 'text')
}

/** Reads a text or checked parts. Empty text is omitted. */
function readContent(content: unknown, param: string): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [toText(content)]
  if (!Array.isArray(content)) return []
  return content
    .filter(isObject)
    .map((part, index) => readPart(part, `${param}.${index}`))
    .filter((part) => part.type !== 'text' || part.text !== '')
}

function readPart(part: JsonObject, param: string): Part {
  switch (part.type) {
    case 'refusal':
      return { type: 'text', text: part.refusal as string, isRefusal: true, cache: false }
    case 'input_image':
      return readImage(part, `${param}.image_url`)
    case 'input_file':
      return readFile(part, param)
    default:
      return toText(part.text as string)
  }
}

function readImage({ detail, image_url: url }: JsonObject, param: string): MediaPart {
  const source = { kind: 'address', address: url as string } as const
  return { type: 'media', image: true, source, ...(isText(detail) && { detail }), cache: false, param }
}

function readFile({ file_data: data, file_url: url, filename }: JsonObject, param: string): MediaPart {
  return {
    type: 'media',
    image: false,
    source: { kind: 'address', address: (data ?? url) as string },
    ...(typeof filename === 'string' && { filename }),
    cache: false,
    param: data === undefined ? `${param}.file_url` : `${param}.file_data`,
  }
}
