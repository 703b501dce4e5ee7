import type { FinishReason } from '../protocol/finish-reason.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import type { ThoughtPiece } from './conversation.js'

/**
 * One step of a reply, whatever API its provider speaks. A reader turns a provider's events into deltas, and each API of
 * this service has one writer for them. Output is counted before it becomes a delta, so a writer decides nothing about
 * money.
 *
 * The parts of a choice come one after the other, only calls may overlap. A part of text ends where text of another kind
 * starts, or anything else.
 */
export type Delta =
  | ChoiceStart
  | MessageBegin
  | BlockBegin
  | CallBegin
  | CallInput
  | TextPiece
  | ThoughtPieces
  | ThoughtDetails
  | TextProbabilities
  | TextAnnotation
  | MadeImage
  | MadeAudio
  | OtherMembers
  | NativePiece
  | PartEnd
  | ChoiceEnd

/**
 * A delta as it is handed on by whatever reads a provider's API. The pieces of calls become {@link CallBegin} and
 * {@link CallInput} once they are repaired, and the provider's word for the end one that clients know.
 */
export type ProviderDelta =
  | Exclude<Delta, CallBegin | CallInput | ThoughtDetails | ChoiceEnd>
  | CallPiece
  | ProviderEnd

/** Members as a provider sent them, which only its own API reads. */
export type Members = Readonly<Record<string, unknown>>

/** Members of a provider's reply beside its choices: `id`, `system_fingerprint`, `service_tier`, lists like `citations`. */
export type Labels = Readonly<Record<string, unknown>>

export interface OfChoice {
  readonly choice: number
}

/** The first delta of a choice. */
export interface ChoiceStart extends OfChoice {
  readonly type: 'start'
  /** The counts of tokens with which a provider of Messages starts. */
  readonly counts?: Readonly<Record<string, number>>
}

/** Whether a message is the answer, or commentary on the way to it. */
export type Phase = 'commentary' | 'final_answer'

/** A message starts. It is a boundary that its text does not show. */
export interface MessageBegin {
  readonly type: 'begin'
  readonly kind: 'message'
  readonly choice: number
  readonly phase: Phase
}

/**
 * A block of Messages starts, with its text to follow. Only its own API shows where blocks start. Blocks of the kind
 * `native` have no other deltas than {@link NativePiece}.
 */
export interface BlockBegin extends OfChoice {
  readonly type: 'begin'
  readonly kind: 'text' | 'thought' | 'native'
  readonly block: Members
}

/** A piece of a tool call: its start, more of its input, or all of it. */
export interface CallPiece extends OfChoice {
  readonly type: 'call'
  /** The provider's number of the call. Pieces without one are recognised by their id, or follow the piece before them. */
  readonly call?: number | undefined
  readonly form: CallBegin['form']
  /** If a call has none, it gets one. */
  readonly id?: string | undefined
  /** It may come in pieces. */
  readonly name?: string | undefined
  /** May be empty. */
  readonly input: string
  /** Google's signature of the call. */
  readonly signature?: string | undefined
  /** Other members of the provider's call. */
  readonly rest?: Members | undefined
  /** Members of its function. */
  readonly details?: Members | undefined
  /** Its block of Messages, which has its whole name. */
  readonly block?: Members
  /** The event of Messages that brought its input, if that has nothing else. */
  readonly event?: NativeEvent | undefined
  /** Whether nothing more of the call follows. */
  readonly isLast?: true | undefined
}

/** A tool call starts. Its name is complete, and its id is unique in its choice. */
export interface CallBegin extends OfChoice {
  readonly type: 'begin'
  readonly kind: 'call'
  /** The position among the calls of its choice. */
  readonly call: number
  /**
   * The input of a function is JSON, that of a custom tool any text. A client of chats that named its tools in
   * `functions` reads a call in the `older` form.
   */
  readonly form: 'function' | 'custom' | 'older'
  readonly id: string
  readonly name: string
  /** Google's signature of the call. */
  readonly signature: string | undefined
  /** Other members of the provider's call. */
  readonly rest: Members | undefined
  /** Other members of its function. */
  readonly details: Members | undefined
  /** Its block of Messages. */
  readonly block?: Members
}

/** More of a call. The text may be empty if the call only gets a signature, or members of its provider. */
export interface CallInput extends OfChoice {
  readonly type: 'input'
  readonly call: number
  readonly form: CallBegin['form']
  readonly text: string
  /** Whether the input of the call is complete, as JSON of which all brackets are closed. */
  readonly isWhole: boolean
  /** Whether the provider sent no input at all, and the text stands for none. */
  readonly isAssumed?: true | undefined
  /** The event of Messages that brought it, if that has nothing else. */
  readonly event?: NativeEvent | undefined
  readonly signature: string | undefined
  readonly rest: Members | undefined
}

export interface TextPiece extends OfChoice {
  readonly type: 'text'
  readonly kind: 'text' | 'refusal' | 'thought'
  /** Never empty. */
  readonly text: string
  /** The thought whose text its provider wants back in pieces like {@link ThoughtDetails}. */
  readonly of?: Pick<ThoughtPiece, 'format' | 'index'> | undefined
  /** Its delta of Messages. */
  readonly native?: Members | undefined
  /** The event of Messages that brought it, if that has nothing else. */
  readonly event?: NativeEvent
}

/** An event of Messages that is passed on unparsed. */
export interface NativeEvent {
  /** The position of its block. */
  readonly index: number
  /** Its JSON. */
  readonly bytes: WireBytes
}

/**
 * Pieces of reasoning: with a signature, encrypted, or the text once more. Clients send them back, so that their provider
 * can verify them.
 */
export interface ThoughtPieces extends OfChoice {
  readonly type: 'thoughts'
  readonly pieces: readonly ThoughtPiece[]
  /** The signature of the thought in Messages. */
  readonly signature?: string
}

/** The same in OpenRouter's shape, as a provider of chats sent them. */
export interface ThoughtDetails extends OfChoice {
  readonly type: 'details'
  readonly details: readonly Members[]
}

/** The log probabilities of the text that follows, in the shape of a chat's `logprobs`. */
export interface TextProbabilities extends OfChoice {
  readonly type: 'logprobs'
  readonly logprobs: Members
}

/** A source of the text before it, in the shape of a chat's `annotations`. */
export interface TextAnnotation extends OfChoice {
  readonly type: 'annotation'
  /** Undefined if only its own API can name the source. */
  readonly annotation: Members | undefined
  /** Its delta of Messages. */
  readonly native?: Members
}

export interface MadeImage extends OfChoice {
  readonly type: 'image'
  /** Undefined if it has none that can be read. */
  readonly address: string | undefined
  /** The image as its provider sent it. */
  readonly image: unknown
}

export interface MadeAudio extends OfChoice {
  readonly type: 'audio'
  readonly audio: Members
}

/** Members without a delta of their own. The same API writes them back. */
export interface OtherMembers extends OfChoice {
  readonly type: 'rest'
  /** Members of a chat's delta or message. */
  readonly said: Members | undefined
  /** Members of a chat's choice. */
  readonly beside: Members | undefined
}

/** A delta of Messages for the block that started last, which only the same API can read. */
export interface NativePiece extends OfChoice {
  readonly type: 'native'
  readonly native: Members
}

/** A call has ended, or the block of Messages that started last. */
export interface PartEnd extends OfChoice {
  readonly type: 'done'
  /** The position of the call among those of its choice. Undefined for a block. */
  readonly call?: number
}

/** The last delta of a choice. */
export interface ChoiceEnd extends OfChoice {
  readonly type: 'end'
  readonly reason: FinishReason
  /** The provider's own word. */
  readonly native: string | undefined
  /** The text at which the model stopped, if the client asked to stop there and the provider says so. */
  readonly stopSequence: string | undefined
  /** Members with which a message of Messages ends. */
  readonly rest?: EndMembers
}

export interface EndMembers {
  /** Why a reply was refused. */
  readonly stop_details?: Members
  /** The provider's edits of the input, if the client asked for them. */
  readonly context_management?: Members
}

/** The end of a choice in the words of its provider. One that means a failure makes the whole reply fail. */
export interface ProviderEnd extends OfChoice {
  readonly type: 'end'
  readonly reason: string
  /** Says more than the reason, if the provider has two words. */
  readonly native?: string | undefined
  /** The text at which the model stopped, if the provider says so. */
  readonly stopSequence?: string | undefined
  readonly rest?: EndMembers
}
