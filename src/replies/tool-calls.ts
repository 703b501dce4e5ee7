import type { TokenTally } from '../contracts/token-counter.js'
import type { CallBegin, CallPiece, Delta, Members, NativeEvent } from '../conversation/delta.js'
import { exactTextOf } from '../protocol/exact-data.js'
import { isInteger, isObject, type JsonObject, saysNothing, textOf } from '../protocol/json-values.js'
import { CallArguments } from './call-arguments.js'
import { googleSignature } from './call-signatures.js'
import type { Losses } from './losses.js'

const MAX_TOOL_CALLS = 1_024
const TOO_MANY = `there are more than ${MAX_TOOL_CALLS} tool calls`

interface ToolCallState {
  readonly kind: CallBegin['form']
  /** The provider's own index. Several calls may share one. */
  readonly providerIndex: number
  /** The provider's choice. Each of its choices may number its own calls. */
  readonly providerChoice: number
  /** Assigned when its first delta is sent. */
  index: number | undefined
  /** The provider's own id. Several calls may share one. */
  id: string | undefined
  name: string | undefined
  readonly args: CallArguments
  /** Other members of the function. */
  readonly details: JsonObject
  /** Set if a piece was unreadable: the rest would be a different call than the model's. */
  isLost: boolean
  /** The provider's own fields, such as the signature that Gemini needs back. */
  readonly own: JsonObject
  signature: string | undefined
  /** Its block of Messages. */
  block: Members | undefined
  /** Whether the provider said that nothing more of it follows. */
  hasEnded: boolean
}

/** More of a call that has begun. */
interface MoreOfCall {
  readonly text: string
  /** The new values of the provider's own fields. */
  readonly own?: JsonObject | undefined
  readonly signature?: string | undefined
  readonly isAssumed?: boolean
  readonly event?: NativeEvent | undefined
}

/** A piece whose input may be one that cannot be read. */
interface AnyPiece extends Omit<CallPiece, 'input'> {
  readonly input: string | undefined
}

/**
 * Turns the tool calls of one choice into deltas. Calls are numbered from 0. The first delta of a call has a unique id,
 * its form and its whole name. Later deltas have only more of the arguments. Arguments are text.
 *
 * A name may come in pieces, so a call is withheld until more of its arguments, another call or the end of the choice
 * shows that its name is complete.
 */
export class ToolCallStream {
  private readonly calls: ToolCallState[] = []
  private last: ToolCallState | undefined
  private started = 0
  /** The length of all arguments, which are kept until the end. */
  keptBytes = 0

  constructor(
    private readonly choice: number,
    private readonly newId: () => string,
    private readonly losses: Losses,
    private readonly tally: Pick<TokenTally, 'add'>,
  ) {}

  /** Whether there is a call that can be read. */
  get any(): boolean {
    return this.calls.some(({ isLost, name }) => name !== undefined && !isLost)
  }

  /** The indexes of calls that were partly sent before a piece of them was unreadable. */
  get lost(): readonly number[] {
    return this.calls.flatMap(({ index, isLost }) => (isLost && index !== undefined ? [index] : []))
  }

  /**
   * Ends each call when the choice ends. Adds what was withheld of it to `sent`, and `{}` for calls without arguments
   * unless the reply was cut off.
   */
  end(isCut: boolean, sent: Delta[]): void {
    // Calls that are split off here are complete.
    for (const call of [...this.calls]) if (!call.hasEnded) this.endOne(call, isCut, sent)
  }

  private endOne(call: ToolCallState, isCut: boolean, sent: Delta[]): void {
    if (call.isLost) return
    const { args, details, kind, name } = call
    if (name === undefined) {
      if (args.soFar === '' && call.id === undefined) this.losses.mend('tool-call-skipped')
      else this.lose(call, 'a tool call has no name', undefined)
      return
    }
    const isAssumed = args.soFar === ''
    const rest = args.end(isCut)
    if (call.index === undefined) this.begin(call, rest, sent)
    else if (rest !== '') this.goOn(call, call.index, { text: rest, isAssumed }, sent)
    for (const text of args.further()) {
      const another = this.add(kind, call.providerIndex, call.providerChoice)
      if (another === undefined) {
        this.losses.add(TOO_MANY, text)
        return
      }
      another.name = name
      addMembers(another.details, details)
      another.args.take(text)
      this.begin(another, another.args.end(), sent)
    }
  }

  /**
   * Adds the deltas to send to `sent`, possibly none.
   *
   * @param providerChoice the provider's choice, if several of its choices are parts of one
   * @returns whether the piece carries a token, withheld or not
   */
  take(piece: AnyPiece, providerChoice: number, sent: Delta[]): boolean {
    const { details, form, id, name, rest, signature } = piece
    const known = this.find(piece, providerChoice)
    const isKnown = known !== undefined && !this.beginsAnother(known, piece)
    const isEmpty = id === undefined && name === undefined && piece.input === ''
    if (!isKnown && isEmpty && rest === undefined && signature === undefined) {
      this.losses.mend('tool-call-skipped')
      return false
    }
    const call = isKnown ? known : this.add(form, piece.call, providerChoice)
    if (!isKnown) this.showNames(sent, call)
    this.last = call
    if (call === undefined) {
      this.losses.add(TOO_MANY, details ?? piece.input)
      return false
    }
    const input = piece.input ?? (call.args.isOpen ? literalIn(details) : undefined)
    if (input === undefined || call.isLost) {
      this.lose(call, 'the arguments of a tool call are not text', details ?? input)
      return false
    }
    call.id ??= id
    call.block ??= piece.block
    const wasNamed = call.name !== undefined
    const isMoreOfName = this.takeName(call, name)
    const own = rest && takeOwnFields(call.own, rest)
    const isSigned = signature !== undefined && signature !== call.signature
    if (isSigned) call.signature = signature
    if (input !== '') {
      this.tally.add(input)
      call.args.take(input)
      this.keptBytes += input.length
    }
    if (call.index !== undefined) {
      const text = call.args.unsent()
      if (own !== undefined || isSigned || text !== '') {
        // The event is the same as the text only if none was withheld.
        const event = text === input ? piece.event : undefined
        this.goOn(call, call.index, { text, own, signature: isSigned ? signature : undefined, event }, sent)
      }
    } else {
      if (details !== undefined) addMembers(call.details, details)
      // More arguments without more of the name mean that the name is complete.
      const isNamed = wasNamed && !isMoreOfName && input !== ''
      if (call.name !== undefined && (isNamed || call.args.isClosed || call.block !== undefined)) {
        const text = call.args.unsent()
        if (text !== '' || call.block !== undefined) this.begin(call, text, sent)
      }
    }
    if (piece.isLast === true) this.endNow(call, sent)
    return input !== '' || isMoreOfName || own !== undefined || isSigned
  }

  /** Adds the deltas of a call that comes in one piece, whatever came before. */
  takeWhole(
    { details, form, id, input, name, rest, signature }: AnyPiece,
    isCut: boolean,
    sent: Delta[],
  ): void {
    const call = this.add(form)
    if (call === undefined) {
      this.losses.add(TOO_MANY, details ?? input)
      return
    }
    call.hasEnded = true
    if (input === undefined) {
      this.lose(call, 'the arguments of a tool call are not text', details)
      return
    }
    call.id = id
    call.name = name
    call.signature = signature
    if (rest !== undefined) takeOwnFields(call.own, rest)
    if (details !== undefined) addMembers(call.details, details)
    if (input !== '') call.args.take(input)
    this.endOne(call, isCut, sent)
  }

  /** Ends a call of which nothing more follows. */
  private endNow(call: ToolCallState, sent: Delta[]): void {
    // A call that is lost fails the reply, so the client first gets what can be read.
    if (call.name === undefined) return
    call.hasEnded = true
    this.endOne(call, false, sent)
    if (call.index !== undefined) sent.push({ type: 'done', choice: this.choice, call: call.index })
  }

  /** Returns whether the delta has more of the name. */
  private takeName(call: ToolCallState, name: string | undefined): boolean {
    if (name === undefined || name === call.name) return false
    if (call.name === undefined) {
      call.name = name
      this.tally.add(name)
      return true
    }
    if (call.index !== undefined) {
      // Clients already have its name.
      this.losses.mend('member-dropped', 'tool_calls.function.name')
      return false
    }
    // Some providers repeat everything that has come of the name.
    const piece = name.startsWith(call.name) ? name.slice(call.name.length) : name
    call.name += piece
    this.tally.add(piece)
    this.losses.mend('tool-name-joined')
    return true
  }

  /**
   * Sends the names of the calls before `another`, since no more of them follows. Placeholders of arguments are still
   * withheld.
   */
  private showNames(sent: Delta[], another: ToolCallState | undefined): void {
    for (const call of this.calls) {
      if (call === another || call.index !== undefined || call.isLost || call.name === undefined) continue
      this.begin(call, call.args.unsent(), sent)
    }
  }

  private begin(call: ToolCallState, args: string, sent: Delta[]): void {
    const index = this.started++
    call.index = index
    const own = mendExtra(call.own, this.losses)
    sent.push({
      type: 'begin',
      kind: 'call',
      choice: this.choice,
      call: index,
      form: call.kind,
      id: this.idFor(call),
      name: call.name ?? '',
      signature: call.signature ?? googleSignature(own),
      rest: membersOf(own),
      details: membersOf(call.details, DETAILS[call.kind]),
      ...(call.block !== undefined && { block: call.block }),
    })
    if (args !== '') this.goOn(call, index, { text: args }, sent)
  }

  private goOn(
    { args, kind }: ToolCallState,
    index: number,
    { event, isAssumed, own, signature, text }: MoreOfCall,
    sent: Delta[],
  ): void {
    const rest = own && mendExtra(own, this.losses)
    sent.push({
      type: 'input',
      choice: this.choice,
      call: index,
      form: kind,
      text,
      isWhole: args.isWhole,
      isAssumed: isAssumed === true ? true : undefined,
      signature: signature ?? (rest && googleSignature(rest)),
      rest,
      event,
    })
  }

  private lose(call: ToolCallState, why: string, piece: unknown): void {
    call.isLost = true
    this.losses.add(why, piece)
  }

  private find({ call: index, id, name }: AnyPiece, providerChoice: number): ToolCallState | undefined {
    if (index === undefined && id === undefined) {
      return name === undefined || this.last?.providerChoice === providerChoice ? this.last : undefined
    }
    const hasIndex = (call: ToolCallState) =>
      call.providerChoice === providerChoice && (index === undefined || call.providerIndex === index)
    const same =
      id === undefined ? undefined : this.calls.findLast((call) => call.id === id && hasIndex(call))
    const found =
      same ??
      this.calls.findLast((call) => call.providerChoice === providerChoice && call.providerIndex === index)
    // The number of a choice may change within one call.
    return (
      found ?? (name === undefined && this.last?.providerChoice !== providerChoice ? this.last : undefined)
    )
  }

  /**
   * Whether a piece starts another call although one is known. Some providers give several calls one index or none, and
   * no ids or the same one. Others repeat the name with each piece of one call, send it in pieces, or invent an id for
   * each piece.
   */
  private beginsAnother(known: ToolCallState, piece: AnyPiece): boolean {
    const { call: providerIndex, id, input: args = '', name } = piece
    if (name === undefined || known.name === undefined) return false
    const hasOtherId = id !== undefined && known.id !== undefined && id !== known.id
    const { isClosed, isOpen, isPlaceholder, soFar } = known.args
    if (name !== known.name) {
      const mayBeMore = known.index === undefined && (soFar === '' || isOpen)
      return hasOtherId || !mayBeMore
    }
    const begins = args.trimStart().startsWith('{')
    if (hasOtherId) return !isOpen && (args === '' || begins)
    if (!begins || !isClosed || isPlaceholder || id !== undefined) return false
    return providerIndex === undefined || args.trim() !== soFar.trim()
  }

  /** Returns a unique id, because clients match results to calls only by id. */
  private idFor(call: ToolCallState): string {
    const { id } = call
    const isShared = this.calls.some((other) => other !== call && other.id === id)
    return id === undefined || isShared ? this.newId() : id
  }

  /** Returns undefined if the maximum number of calls is reached. */
  private add(
    kind: ToolCallState['kind'],
    providerIndex = this.calls.length,
    providerChoice = 0,
  ): ToolCallState | undefined {
    if (this.calls.length >= MAX_TOOL_CALLS) return undefined
    const call: ToolCallState = {
      kind,
      providerIndex,
      providerChoice,
      index: undefined,
      id: undefined,
      name: undefined,
      args: new CallArguments(kind !== 'custom', this.losses),
      details: {},
      isLost: false,
      own: {},
      signature: undefined,
      block: undefined,
      hasEnded: false,
    }
    this.calls.push(call)
    return call
  }
}

/** Adds to the object itself: a copy for each piece would take quadratic time. */
function addMembers(known: JsonObject, members: JsonObject): void {
  for (const name of Object.keys(members)) if (name !== '__proto__') known[name] = members[name]
}

/** The members of a function or custom tool that a delta has in fields of its own. */
const DETAILS: Readonly<Record<CallBegin['form'], ReadonlySet<string>>> = {
  function: new Set(['name', 'arguments']),
  older: new Set(['name', 'arguments']),
  custom: new Set(['name', 'input']),
}
const NONE: ReadonlySet<string> = new Set()

/** Returns the members with other names. Undefined if there are none. */
function membersOf(object: JsonObject, omitted = NONE): Members | undefined {
  let members: JsonObject | undefined
  for (const name of Object.keys(object)) {
    if (omitted.has(name) || name === '__proto__') continue
    members ??= {}
    members[name] = object[name]
  }
  return members
}

const COMMON_FIELDS = new Set(['index', 'id', 'type', 'function', 'custom', '__proto__'])
/** Members that some providers put beside `function` instead of inside it. */
const FLAT_FIELDS = new Set(['name', 'arguments'])

/** Returns the function of a call whose name and arguments are beside its id. */
function flatDetails({
  arguments: args,
  function: nested,
  custom,
  name,
}: JsonObject): JsonObject | undefined {
  if (nested !== undefined && nested !== null) return undefined
  if (custom !== undefined && custom !== null) return undefined
  if (textOf(name) === undefined && textOf(args) === undefined && !isObject(args)) return undefined
  return { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) }
}

/** Adds the provider's own fields to `known`. Returns their new values. Undefined if there are none. */
function takeOwnFields(known: JsonObject, own: Members): JsonObject | undefined {
  let found: JsonObject | undefined
  for (const field of Object.keys(own)) {
    const value = own[field]
    if (JSON.stringify(value) === JSON.stringify(known[field])) continue
    known[field] = value
    found ??= {}
    found[field] = value
  }
  return found
}

/** Removes the part of a call's `extra_content` for which strict clients would refuse the whole reply. */
function mendExtra(fields: JsonObject, losses: Losses): JsonObject {
  const extra = fields.extra_content ?? null
  if (extra === null || isReadableExtra(extra)) return fields
  const { extra_content: _extra, ...rest } = fields
  losses.mend('member-dropped', 'tool_calls.extra_content')
  if (!isObject(extra)) return rest
  const { google: _, ...others } = extra
  return Object.assign(rest, { extra_content: others })
}

function isReadableExtra(extra: unknown): boolean {
  if (!isObject(extra)) return false
  const { google = null } = extra
  if (google === null) return true
  return isObject(google) && typeof (google.thought_signature ?? '') === 'string'
}

/** Returns undefined if there is no index, NaN if it is not an integer. */
function readIndex(given: unknown): number | undefined {
  if (given === undefined || given === null) return undefined
  const index = typeof given === 'string' ? Number(given) : given
  return isInteger(index) ? index : Number.NaN
}

/** Returns a fragment of arguments that is a JSON number or literal. */
function literalIn(details: Members | undefined): string | undefined {
  const args = details?.arguments
  return typeof args === 'number' || typeof args === 'boolean' ? String(args) : undefined
}

/**
 * Reads the tool calls of a chunk. Adds the deltas to send to `sent`, possibly none.
 *
 * @param providerChoice the provider's choice, if several of its choices are parts of one
 * @returns whether they carry a token, withheld or not
 */
export function takeCalls(
  given: unknown,
  calls: ToolCallStream,
  providerChoice: number,
  losses: Losses,
  sent: Delta[],
): boolean {
  let token = false
  for (const raw of listed(given, losses)) {
    if (isObject(raw)) {
      const piece = readPiece(raw, losses)
      if (piece !== undefined) token = calls.take(piece, providerChoice, sent) || token
    } else missCall(raw, losses)
  }
  return token
}

function listed(given: unknown, losses: Losses): readonly unknown[] {
  const isSingle = isObject(given) && (isObject(given.function) || isObject(given.custom))
  if (isSingle) losses.mend('tool-call-mapped')
  const calls = isSingle ? [given] : given
  if (Array.isArray(calls)) return calls
  if (saysNothing(calls)) losses.mend('tool-call-skipped')
  else losses.add('tool_calls is not a list', calls)
  return []
}

/** Returns undefined if nothing shows which call a piece belongs to. */
function readPiece(raw: JsonObject, losses: Losses): AnyPiece | undefined {
  const call = readIndex(raw.index)
  const piece = readWholePiece(raw, losses, call)
  if (!Number.isNaN(call)) return piece
  // Only its id or its name can show which call it belongs to.
  if (piece.id === undefined && piece.name === undefined) {
    losses.add('the index of a tool call is not a number', piece.details)
    return undefined
  }
  losses.mend('tool-call-renumbered')
  return { ...piece, call: undefined }
}

function readWholePiece(raw: JsonObject, losses: Losses, call?: number) {
  const form = isObject(raw.custom) || raw.type === 'custom' ? 'custom' : 'function'
  const details = detailsOf(raw, form, losses)
  const id = textOf(raw.id)
  const name = textOf(details.name)
  const input = argumentText(form === 'custom' ? details.input : details.arguments)
  const rest = ownFields(raw)
  return { type: 'call', choice: 0, call, form, id, name, input, rest, details } as const
}

function detailsOf(raw: JsonObject, form: CallPiece['form'], losses: Losses): JsonObject {
  const details = raw[form]
  if (isObject(details)) return details
  const flat = flatDetails(raw)
  if (flat === undefined) return {}
  losses.mend('tool-call-mapped')
  return flat
}

/** Returns the provider's own fields of a piece. Undefined if there are none. */
function ownFields(raw: JsonObject): Members | undefined {
  let own: JsonObject | undefined
  const isFlat = raw.function === undefined || raw.function === null
  for (const field of Object.keys(raw)) {
    const value = raw[field]
    if (value === null || COMMON_FIELDS.has(field) || (isFlat && FLAT_FIELDS.has(field))) continue
    own ??= {}
    own[field] = value
  }
  return own
}

/** The output of whole calls is counted once their message is passed on. */
const UNCOUNTED: Pick<TokenTally, 'add'> = { add: () => {} }

export interface WholeCalls {
  readonly choice: number
  readonly newId: () => string
  readonly losses: Losses
  /** Whether the message was cut off, so that a call without arguments may be incomplete. */
  readonly isCut: boolean
}

/** Returns the deltas of the readable tool calls in a whole message. Each of them is one call. */
export function readWholeCalls(given: unknown, { choice, isCut, losses, newId }: WholeCalls): Delta[] {
  const calls = new ToolCallStream(choice, newId, losses, UNCOUNTED)
  const read: Delta[] = []
  const list = listed(given, losses)
  const repeats = new RepeatedCalls(list)
  for (const raw of list) {
    if (!isObject(raw)) {
      missCall(raw, losses)
      continue
    }
    const piece = readWholePiece(raw, losses)
    const { details, id, name } = piece
    if (name === undefined) {
      if (id === undefined && saysNothing(details.arguments ?? details.input))
        losses.mend('tool-call-skipped')
      else losses.add('a tool call has no name', details)
    } else if (repeats.has(piece)) losses.mend('arguments-repeated')
    else calls.takeWhole(piece, isCut, read)
  }
  return read
}

/** Finds the whole calls that are listed twice. Their arguments may be long, so it reads them only if calls share an id. */
class RepeatedCalls {
  private readonly known: Set<string> | undefined

  constructor(list: readonly unknown[]) {
    const ids = new Set(list.map((raw) => (isObject(raw) ? raw.id : undefined)))
    if (ids.size < list.length) this.known = new Set()
  }

  /** Whether a call with the same id, name and arguments came before. */
  has({ id, input, name }: AnyPiece): boolean {
    if (this.known === undefined || id === undefined) return false
    const call = JSON.stringify([id, name, input])
    if (this.known.has(call)) return true
    this.known.add(call)
    return false
  }
}

function missCall(raw: unknown, losses: Losses): void {
  if (saysNothing(raw)) losses.mend('tool-call-skipped')
  else losses.add('a tool call is not an object', raw)
}

/** Returns undefined if the value is neither text nor an object. */
function argumentText(value: unknown): string | undefined {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  return isObject(value) ? exactTextOf(value) : undefined
}
