import { createHash } from 'node:crypto'
import { isObject, type JsonObject, textOf } from '../protocol/json-values.js'
import type { Answer, Maker, Thought, ThoughtPiece, ToolCall, Turn } from './conversation.js'
import { JoinedAnswers } from './joined-answers.js'

/** The format of thoughts from Anthropic's models. */
export const CLAUDE_FORMAT = 'anthropic-claude-v1'
/** The format of thoughts from Google's models. */
export const GOOGLE_FORMAT = 'google-gemini-v1'

/** Returns the text of the reasoning of a reply. Undefined if there is none. */
export function reasoningOf({ thoughts }: Answer): string | undefined {
  const texts = thoughts.map(({ text }) => text).filter((text) => text !== '')
  return texts.length === 0 ? undefined : texts.join('\n\n')
}

/** Returns the pieces of all thoughts of a reply. */
export function piecesOf({ thoughts }: Answer): readonly ThoughtPiece[] {
  return thoughts.flatMap(({ pieces }) => pieces)
}

/** Whether a piece is Google's signature of the call with its id. */
export function isCallSignature({ format, id }: ThoughtPiece): boolean {
  return format === GOOGLE_FORMAT && id !== undefined && id !== ''
}

/**
 * Whether this service made a piece of the signature of a call. Then the call itself has the signature at its provider.
 * A provider that sends signatures among its thoughts gives them an index, and needs them back there.
 */
export function isSignatureOfCall(piece: ThoughtPiece): boolean {
  return isCallSignature(piece) && piece.index === undefined
}

const KINDS: ReadonlyMap<unknown, ThoughtPiece['kind']> = new Map([
  ['reasoning.text', 'text'],
  ['reasoning.encrypted', 'encrypted'],
  ['reasoning.summary', 'summary'],
] as const)

/** Reads one of OpenRouter's `reasoning_details`. */
export function readDetail(detail: JsonObject): ThoughtPiece {
  const { data, format, id, index, signature, summary, text, type } = detail
  const kind = KINDS.get(type) ?? 'other'
  return {
    kind,
    ...(kind === 'other' && texts({ otherType: type })),
    ...((typeof index === 'number' || typeof index === 'string') && { index }),
    ...texts({
      data,
      format,
      id,
      signature,
      text,
      summary: Array.isArray(summary) ? textIn(summary) : summary,
    }),
  }
}

/** Returns the members that are texts. */
export function texts<Name extends string>(
  members: Readonly<Record<Name, unknown>>,
): { [name in Name]?: string } {
  const given: { [name in Name]?: string } = {}
  for (const name in members) {
    const value: unknown = members[name]
    if (typeof value === 'string') given[name] = value
  }
  return given
}

/** Returns the texts of a list of parts as one. */
export function textIn(parts: readonly unknown[]): string {
  return parts.map((part) => (isObject(part) ? textOf(part.text) : undefined) ?? '').join('')
}

const TYPES = {
  text: 'reasoning.text',
  encrypted: 'reasoning.encrypted',
  summary: 'reasoning.summary',
} as const

/** Writes a piece as one of OpenRouter's `reasoning_details`. */
export function writeDetail(piece: ThoughtPiece): JsonObject {
  const { data, format, id, index, kind, otherType, signature, summary, text } = piece
  const type = kind === 'other' ? otherType : TYPES[kind]
  const detail: JsonObject = {}
  if (type !== undefined) detail.type = type
  if (text !== undefined) detail.text = text
  if (summary !== undefined) detail.summary = summary
  if (signature !== undefined) detail.signature = signature
  if (data !== undefined) detail.data = data
  if (id !== undefined) detail.id = id
  if (format !== undefined) detail.format = format
  if (index !== undefined) detail.index = index
  return detail
}

/**
 * Whether OpenAI encrypted it, by the version of the encryption and the first bytes of its time. A server between a client
 * and OpenAI may have sent it as the signature of a thought. Claude would refuse the whole request because of it.
 */
export function isEncryptedByOpenAi(bytes: string): boolean {
  return bytes.startsWith('gAAAAA')
}

/** Whether a model is Claude, by its name. */
export function isClaude(model: string): boolean {
  return model.includes('claude')
}

/** Returns the digest of a provider's name, which clients may see. */
export function providerDigest(provider: string): string {
  return createHash('sha256').update(provider).digest('base64url').slice(0, 11)
}

/** A model of a provider that gets a conversation. */
export class Recipient {
  private readonly isClaude: boolean
  private digest: string | undefined

  /** @param model the provider's name of the model */
  constructor(
    readonly provider: string,
    readonly model: string,
  ) {
    this.isClaude = isClaude(model)
  }

  /** Whether it made something, and so can use it. Whatever has no maker is for everyone. */
  made({ maker }: { readonly maker?: Maker }): boolean {
    if (maker === undefined) return true
    const { isClaude = this.isClaude, provider = this.provider, providerDigest: digest } = maker
    if (isClaude !== this.isClaude || provider !== this.provider) return false
    if (digest === undefined) return true
    this.digest ??= providerDigest(this.provider)
    return digest === this.digest
  }
}

/**
 * Returns a conversation for one provider: without thoughts and signatures that others made. They are of no use to it,
 * and strict providers refuse them. Returns the same list if there are none.
 */
export function turnsFor(turns: readonly Turn[], recipient: Recipient): readonly Turn[] {
  const isOwn = (thought: Thought) => recipient.made(thought)
  const isOthers = ({ signature }: ToolCall) => signature !== undefined && !recipient.made(signature)
  const hasOthers = ({ thoughts, toolCalls }: Answer) => !thoughts.every(isOwn) || toolCalls.some(isOthers)
  if (!turns.some((turn) => turn.role === 'assistant' && hasOthers(turn))) return turns
  const answers = new JoinedAnswers()
  for (const turn of turns) {
    if (turn.role !== 'assistant' || !hasOthers(turn)) answers.turns.push(turn)
    else {
      answers.add({
        ...turn,
        thoughts: turn.thoughts.filter(isOwn),
        toolCalls: turn.toolCalls.map((call) => (isOthers(call) ? unsigned(call) : call)),
      })
    }
  }
  return answers.turns
}

function unsigned({ signature: _, ...call }: ToolCall): ToolCall {
  return call
}
