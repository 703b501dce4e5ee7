import type { Answer, ThoughtPiece } from '../../conversation/conversation.js'
import {
  CLAUDE_FORMAT,
  GOOGLE_FORMAT,
  isCallSignature,
  piecesOf,
  reasoningOf,
} from '../../conversation/thoughts.js'
import { isObject, isText, textOf } from '../../protocol/json-values.js'
import { RESPONSES_FORMAT } from '../../protocol/responses-request.js'
import { isOfClaude, signedThoughts } from '../openai-input/signed-thoughts.js'
import type { PromptPart, ProviderOptions } from './specification.js'
import { apiOf, isClaude, isGemini, type ModelNames } from './target-api.js'

/** The names under which packages return the metadata of Google's models, of Claude and of OpenAI's models. */
const GOOGLE = ['google', 'vertex', 'googleVertex'] as const
const CLAUDE = ['anthropic', 'bedrock'] as const
const OPENAI = ['openai', 'azure'] as const
/** https://ai.google.dev/gemini-api/docs/thought-signatures */
const UNSIGNED = 'skip_thought_signature_validator'

/** Returns Google's signature of the thought that led to a tool call. */
export function callSignature(metadata: unknown): string | undefined {
  return memberOf(metadata, GOOGLE, 'thoughtSignature')
}

/** Returns a thought with its signature, or one that only its provider can read. Undefined if it is neither. */
export function thoughtPiece(text: string, metadata: unknown, index: number): ThoughtPiece | undefined {
  const google = memberOf(metadata, GOOGLE, 'thoughtSignature')
  if (google !== undefined) return { kind: 'text', text, signature: google, format: GOOGLE_FORMAT, index }
  const signature = memberOf(metadata, CLAUDE, 'signature')
  if (signature !== undefined) return { kind: 'text', text, signature, format: CLAUDE_FORMAT, index }
  const redacted = memberOf(metadata, CLAUDE, 'redactedData')
  if (redacted !== undefined) return { kind: 'encrypted', data: redacted, format: CLAUDE_FORMAT, index }
  const data = memberOf(metadata, OPENAI, 'reasoningEncryptedContent')
  if (data === undefined) return undefined
  const id = memberOf(metadata, OPENAI, 'itemId')
  return { kind: 'encrypted', data, id, format: RESPONSES_FORMAT, index }
}

function memberOf(metadata: unknown, providers: readonly string[], name: string): string | undefined {
  if (!isObject(metadata)) return undefined
  for (const provider of providers) {
    const own = metadata[provider]
    const value = isObject(own) ? textOf(own[name]) : undefined
    if (value !== undefined) return value
  }
  return undefined
}

/**
 * Returns the reasoning of an earlier reply in the form that the model accepts. Claude accepts only what it signed
 * itself, and the Responses API only what it encrypted. Other models get all of it, with signatures if Google made them.
 */
export function thoughtParts(answer: Answer, model: ModelNames): PromptPart[] {
  const thoughts = piecesOf(answer)
  if (isClaude(model)) {
    const name = model.provider.includes('bedrock') ? 'bedrock' : 'anthropic'
    return signedThoughts(thoughts, isOfClaude).map((thought) =>
      'encrypted' in thought
        ? part('', { [name]: { redactedData: thought.encrypted } })
        : part(thought.text, { [name]: { signature: thought.signature } }),
    )
  }
  if (apiOf(model) === 'responses') return encryptedParts(thoughts, model)
  const reasoning = reasoningOf(answer)
  const signed = signedThoughts(thoughts, isOfGoogle).flatMap((thought) =>
    'encrypted' in thought
      ? []
      : part(thought.text || (reasoning ?? ''), { google: { thoughtSignature: thought.signature } }),
  )
  return signed.length > 0 || reasoning === undefined ? signed : [{ type: 'reasoning', text: reasoning }]
}

/** A thought with several summaries comes as several details with the same text. */
function encryptedParts(pieces: readonly ThoughtPiece[], { provider }: ModelNames): PromptPart[] {
  const name = provider.startsWith('azure') ? 'azure' : 'openai'
  const thoughts = new Map<string, PromptPart>()
  for (const { data, format, id } of pieces) {
    if (format !== RESPONSES_FORMAT || !data || thoughts.has(data)) continue
    const named = id === undefined ? {} : { itemId: id }
    thoughts.set(data, part('', { [name]: { ...named, reasoningEncryptedContent: data } }))
  }
  return [...thoughts.values()]
}

const isOfGoogle = ({ format }: ThoughtPiece) => format === GOOGLE_FORMAT

function part(text: string, providerOptions: ProviderOptions): PromptPart {
  return { type: 'reasoning', text, providerOptions }
}

/**
 * Returns the options with which Google's models recognise each call of a reply. Since Gemini 3 they refuse a call
 * without a signature, so a call of another model gets the signature that Google accepts for it. Google signs only the
 * first of several parallel calls.
 */
export function signedOptions(answer: Answer, model: ModelNames): { providerOptions?: ProviderOptions }[] {
  const amongThoughts = signaturesIn(piecesOf(answer))
  const signed = answer.toolCalls.map(({ id, signature }) => signature?.bytes ?? amongThoughts.get(id))
  if (requiresSignatures(model) && signed.length > 0 && !signed.some(isText)) signed[0] = UNSIGNED
  return signed.map((thoughtSignature) =>
    thoughtSignature === undefined ? {} : { providerOptions: { google: { thoughtSignature } } },
  )
}

/** The signatures of calls that a provider sent among its thoughts, by the ids of these. */
function signaturesIn(pieces: readonly ThoughtPiece[]): ReadonlyMap<string | undefined, string> {
  const signatures = new Map<string | undefined, string>()
  for (const piece of pieces.filter(isCallSignature)) {
    if (piece.data && !signatures.has(piece.id)) signatures.set(piece.id, piece.data)
  }
  return signatures
}

function requiresSignatures(model: ModelNames): boolean {
  return isGemini(model) && /gemini-(?:[3-9]|\d\d)/.test(model.modelId)
}
