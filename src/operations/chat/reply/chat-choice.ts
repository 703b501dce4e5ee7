import type { ReasoningName } from '../../../contracts/reasoning-name.js'
import type {
  CallBegin,
  CallInput,
  ChoiceEnd,
  Delta,
  Members,
  TextPiece,
} from '../../../conversation/delta.js'
import { writeDetail } from '../../../conversation/thoughts.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { BETWEEN_THOUGHTS, completeDetails } from './complete-details.js'

/** Parts the thoughts of each choice by a blank line, since chats have one text for all of them. */
export class Thoughts {
  /** The choices that have a thought, and those whose next one is a further one. Undefined until there is one. */
  private said: Set<number> | undefined
  private apart: Set<number> | undefined

  begin(choice: number): void {
    if (this.said?.has(choice) !== true) return
    this.apart ??= new Set()
    this.apart.add(choice)
  }

  /** Returns text of a thought, after a blank line if it is the first one of a further thought. */
  parted(choice: number, text: string): string {
    this.said ??= new Set()
    this.said.add(choice)
    return this.apart?.delete(choice) === true ? `${BETWEEN_THOUGHTS}${text}` : text
  }
}

/** Puts deltas of one choice together: those of one event for a chunk, or all of them for a JSON body. */
export class ChatChoice {
  /** The members of its delta or message. */
  private readonly said: JsonObject
  /** Undefined until there is a member. */
  private beside: JsonObject | undefined
  /** By their positions among the calls of the choice. Undefined until there is one. */
  private calls: JsonObject[] | undefined
  /** A call in the older form, which is a member of the delta or message. */
  private older: JsonObject | undefined
  private end: ChoiceEnd | undefined

  constructor(
    private readonly reasoningName: ReasoningName,
    private readonly isChunk: boolean,
    private readonly thoughts: Thoughts,
  ) {
    this.said = isChunk ? {} : { role: 'assistant', content: null }
  }

  get hasCalls(): boolean {
    return this.calls !== undefined
  }

  add(delta: Delta): void {
    const { said } = this
    switch (delta.type) {
      case 'text':
        this.addText(delta)
        return
      case 'start':
        said.role = 'assistant'
        return
      case 'begin':
        if (delta.kind === 'call') this.addCall(delta)
        else if (delta.kind === 'thought') this.thoughts.begin(delta.choice)
        return
      case 'input':
        this.addInput(delta)
        return
      case 'thoughts':
        for (const piece of delta.pieces) addItem(said, 'reasoning_details', writeDetail(piece))
        return
      case 'details':
        for (const detail of delta.details) addItem(said, 'reasoning_details', detail)
        return
      case 'annotation':
        if (delta.annotation !== undefined) addItem(said, 'annotations', delta.annotation)
        return
      case 'image':
        addItem(said, 'images', delta.image)
        return
      case 'audio':
        joinField(said, 'audio', delta.audio)
        return
      case 'logprobs':
        this.beside ??= {}
        joinField(this.beside, 'logprobs', delta.logprobs)
        return
      case 'rest':
        addMembers(said, delta.said)
        if (delta.beside !== undefined) this.beside = replaced(this.beside, delta.beside)
        return
      case 'end':
        this.end = delta
    }
  }

  /**
   * Returns the choice of a chunk or body.
   *
   * @param lost the calls to omit
   */
  written(index: number, lost = NONE): JsonObject {
    const { beside, calls, isChunk, said } = this
    if (calls !== undefined) {
      const readable = calls.filter((_, call) => !lost.includes(call))
      if (readable.length > 0) said.tool_calls = readable
    }
    if (this.older !== undefined && lost.length === 0) said.function_call = this.older
    completeDetails(said)
    // Most choices have nothing beside, and a spread takes as long as all the rest.
    if (beside === undefined) {
      return this.ended(
        isChunk ? { index, delta: said, finish_reason: null } : { index, message: said, finish_reason: null },
      )
    }
    return this.ended(
      isChunk
        ? { index, delta: said, ...beside, finish_reason: null }
        : { index, message: said, ...beside, finish_reason: null },
    )
  }

  private ended(choice: JsonObject): JsonObject {
    const { end } = this
    if (end === undefined) return choice
    choice.finish_reason = end.reason
    if (end.native !== undefined) choice.native_finish_reason = end.native
    // As vLLM names it.
    if (end.stopSequence !== undefined) choice.stop_reason = end.stopSequence
    return choice
  }

  private addText({ choice, kind, of, text: given }: TextPiece): void {
    const { reasoningName, said } = this
    const text = kind === 'thought' ? this.thoughts.parted(choice, given) : given
    if (kind === 'text') said.content = joinText(said.content, text)
    else if (kind === 'refusal') said.refusal = joinText(said.refusal, text)
    else {
      if (reasoningName !== 'reasoning_content') said.reasoning = joinText(said.reasoning, text)
      if (reasoningName !== 'reasoning') said.reasoning_content = joinText(said.reasoning_content, text)
      if (of !== undefined)
        addItem(said, 'reasoning_details', writeDetail({ kind: 'text', text: given, ...of }))
    }
  }

  private addCall({ call, details, form, id, name, rest, signature }: CallBegin): void {
    if (form === 'older') {
      this.older = { name, arguments: '' }
      return
    }
    const place = this.isChunk ? { index: call, id } : { id }
    const fields: JsonObject =
      form === 'custom'
        ? { ...rest, ...place, type: form, custom: { ...details, name, input: '' } }
        : { ...rest, ...place, type: form, function: { ...details, name, arguments: '' } }
    sign(fields, signature)
    this.calls ??= []
    this.calls[call] = fields
  }

  private addInput({ call, form, rest, signature, text }: CallInput): void {
    if (form === 'older') {
      this.older = Object.assign({}, this.older, { arguments: joinText(this.older?.arguments, text) })
      return
    }
    this.calls ??= []
    let fields = this.calls[call]
    if (fields === undefined) {
      // The start of the call was in an earlier chunk.
      fields = form === 'custom' ? { index: call, custom: {} } : { index: call, function: {} }
      this.calls[call] = fields
    }
    addMembers(fields, rest)
    sign(fields, signature)
    const { custom, function: called } = fields
    if (isObject(custom)) custom.input = joinText(custom.input, text)
    else if (isObject(called)) called.arguments = joinText(called.arguments, text)
  }
}

const NONE: readonly number[] = []

/** Adds Google's signature to a call, where Google's own API for chats has it. */
function sign(fields: JsonObject, signature: string | undefined): void {
  if (signature !== undefined) fields.extra_content ??= { google: { thought_signature: signature } }
}

function joinText(known: unknown, text: string): string {
  return typeof known === 'string' ? known + text : text
}

function addItem(fields: JsonObject, name: string, item: unknown): void {
  const known = fields[name]
  if (Array.isArray(known)) known.push(item)
  else fields[name] = [item]
}

function addMembers(fields: JsonObject, members: Members | undefined): void {
  if (members === undefined) return
  for (const name of Object.keys(members)) joinField(fields, name, members[name])
}

/** The last value other than null applies. Changes `fields`. */
function replaced(fields: JsonObject | undefined, members: Members): JsonObject {
  if (fields === undefined) return { ...members }
  for (const name of Object.keys(members))
    if (name !== '__proto__') fields[name] = members[name] ?? fields[name] ?? null
  return fields
}

/**
 * Appends text and lists, and joins objects by field. Otherwise the last value other than null applies. Changes
 * `known`.
 */
function join(known: unknown, more: unknown): unknown {
  if (typeof known === 'string' && typeof more === 'string') return known + more
  if (Array.isArray(more)) {
    const list = Array.isArray(known) ? known : []
    for (const item of more) list.push(item)
    return list
  }
  if (isObject(more)) {
    const fields = isObject(known) ? known : {}
    for (const [field, value] of Object.entries(more)) joinField(fields, field, value)
    return fields
  }
  return more
}

/** Fields that some providers repeat unchanged with each piece. */
const REPEATED = new Set(['id', 'name', 'type'])

function joinField(fields: JsonObject, field: string, more: unknown): void {
  if (field === '__proto__' || (REPEATED.has(field) && fields[field] === more)) return
  if (more === null && fields[field] !== undefined) return
  fields[field] = join(fields[field], more)
}
