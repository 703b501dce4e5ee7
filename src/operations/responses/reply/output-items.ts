import { toCustomInput } from '../../../conversation/custom-tools.js'
import type { CallBegin, CallInput, Delta, Members, Phase, TextPiece } from '../../../conversation/delta.js'
import { writeDetail } from '../../../conversation/thoughts.js'
import type { FinishReason } from '../../../protocol/finish-reason.js'
import { parseInner } from '../../../protocol/inner-json.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import { memorySize } from '../../../protocol/memory-size.js'
import { MAX_DETAILS } from '../../../protocol/request-fields/messages.js'
import { jsonBytes, type WireBytes, wire } from '../../../protocol/wire-bytes.js'
import { signedCallDetail } from '../../../replies/call-signatures.js'
import { imageText } from '../../../replies/image-text.js'
import { joinDetails } from '../../../replies/reasoning-details.js'
import { toKept } from '../recall/kept-item.js'
import { ENCRYPTED_REASONING } from '../request/read-request.js'
import type { CalledTool } from '../request/read-tools.js'
import { sealReasoning } from '../request/sealed-reasoning.js'
import { type AboutResponse, incompleteReason } from './response-object.js'

/** The types of the events between the first and the last ones of a stream. */
export type ItemEvent = `response.${
  | `output_item.${'added' | 'done'}`
  | `content_part.${'added' | 'done'}`
  | `output_text.${'annotation.added' | 'delta' | 'done'}`
  | `refusal.${'delta' | 'done'}`
  | `reasoning_summary_part.${'added' | 'done'}`
  | `reasoning_summary_text.${'delta' | 'done'}`
  | `function_call_arguments.${'delta' | 'done'}`
  | `custom_tool_call_input.${'delta' | 'done'}`}`

/** Receives each event of a response, without its sequence number. */
export type EmitEvent = (type: ItemEvent, fields: JsonObject) => void

/** As its events and its body show it. */
interface OutputItem extends JsonObject {
  readonly id: string
}
interface TextPart {
  readonly type: 'output_text'
  text: string
  readonly annotations: Members[]
  logprobs: unknown[]
}
interface RefusalPart {
  readonly type: 'refusal'
  refusal: string
}
interface OpenPart<Part> {
  readonly place: JsonObject
  readonly part: Part
}
interface OpenItem {
  readonly index: number
  readonly item: OutputItem
}
interface OpenMessage extends OpenItem {
  readonly content: (TextPart | RefusalPart)[]
}
interface OpenReasoning extends OpenItem {
  text: string
  readonly details: Members[]
}
interface OpenCall extends OpenItem {
  readonly kind: CalledTool['item']
  /** Whether the provider sends the tool's input as text. Otherwise the input is an argument of a function. */
  readonly isText: boolean
  args: string
  /** Whether it has all of its input. */
  isWhole: boolean
}

/**
 * Turns the deltas of a choice into the items of a response and their events. Items start in the order of their deltas.
 */
export class OutputItems {
  /** Every item that has started, in order. Ended items are complete. */
  readonly output: OutputItem[] = []
  /** Undefined until there is one. */
  private finishReason: FinishReason | undefined
  private message: OpenMessage | undefined
  private reasoning: OpenReasoning | undefined
  private readonly calls = new Map<number, OpenCall>()
  /** The call that started last. */
  private lastCall: number | undefined
  /** Calls whose signature is already kept. */
  private readonly signed = new Set<number>()
  /** Signatures that came after their calls had started. */
  private readonly lateSignatures: Members[] = []
  /** The number of details that may still be sealed. */
  private sealable = MAX_DETAILS
  /** The position of each call among the items. */
  private readonly places = new Map<number, number>()
  /** The pieces of each complete thought, by its position among the items. */
  private readonly thoughts = new Map<number, readonly Members[]>()
  /** The approximate memory of the items, without log probabilities. */
  private contentBytes = 0
  private probabilityBytes = 0
  private keepsProbabilities = true
  /** The log probabilities of the text that follows. */
  private probabilities: readonly unknown[] = NO_PROBABILITIES

  /** @param mostProbabilityBytes beyond this, only deltas have log probabilities, not the items */
  constructor(
    private readonly about: AboutResponse,
    private readonly emit: EmitEvent,
    private readonly mostProbabilityBytes: number,
  ) {}

  /** The approximate memory of the items. */
  get bytes(): number {
    return this.contentBytes + this.probabilityBytes
  }

  /** Adds what one event brought. */
  add(deltas: readonly Delta[]): void {
    for (const delta of deltas) this.addOne(delta)
    this.probabilities = NO_PROBABILITIES
  }

  private addOne(delta: Delta): void {
    switch (delta.type) {
      case 'begin':
        if (delta.kind === 'call') this.addCall(delta)
        else if (delta.kind === 'message') this.beginMessage(delta.phase)
        return
      case 'text':
        this.addSpoken(delta)
        return
      case 'input':
        this.addInput(delta)
        return
      case 'thoughts':
        this.addDetails(delta.pieces.map(writeDetail))
        return
      case 'details':
        this.addDetails(delta.details)
        return
      case 'logprobs':
        if (Array.isArray(delta.logprobs.content)) this.probabilities = delta.logprobs.content
        return
      case 'annotation':
        if (delta.annotation !== undefined) this.addAnnotation(delta.annotation)
        return
      case 'image':
        if (delta.address !== undefined) this.addImage(delta.address)
        return
      case 'end':
        this.finishReason = delta.reason
    }
  }

  /** Returns the items without some calls, given by their indexes among all calls. */
  without(lost: readonly number[]): readonly JsonObject[] {
    if (lost.length === 0) return this.output
    const left = new Set(lost.map((call) => this.places.get(call)))
    return this.output.filter((_, index) => !left.has(index))
  }

  /** Why the response is incomplete. Undefined if it is complete. */
  get incompleteReason(): string | undefined {
    return incompleteReason(this.finishReason)
  }

  /** Ends every open item. `isWhole` is false if the reply failed. */
  end(isWhole: boolean): void {
    const isCut = !isWhole || this.incompleteReason !== undefined
    this.endReasoning(isCut)
    this.endMessage(isCut)
    this.endCalls(isCut)
    if (isCut || this.lateSignatures.length === 0) return
    this.openReasoning().details.push(...this.lateSignatures)
    this.endReasoning(isCut)
  }

  /** Yields the JSON of all items in pieces. Each piece is written when it is asked for. */
  *pieces(): Generator<WireBytes, void> {
    yield wire('[')
    for (const [index, item] of this.output.entries()) {
      yield wire(`${index === 0 ? '' : ','}${jsonBytes(item)}`)
    }
    yield wire(']')
  }

  /** Removes the log probabilities from all items. */
  forgetProbabilities(): void {
    this.probabilityBytes = 0
    for (const { content } of [...this.output, this.message ?? {}]) {
      for (const part of Array.isArray(content) ? content : []) if ('logprobs' in part) part.logprobs = []
    }
  }

  /** Keeps the items received so far, so that a later request can name them by their ids. */
  keep(): void {
    const { parts, recent } = this.about
    if (recent === undefined) return
    const { provider } = parts.route
    for (const [index, item] of this.output.entries()) {
      const content = index === this.message?.index ? this.message.content : item.content
      const details = this.thoughts.get(index)
      recent.keep(item.id, () => toKept(item, { content, details, provider }))
    }
  }

  private addSpoken({ kind, of, text }: TextPiece): void {
    if (kind === 'thought') {
      this.addReasoning(text)
      if (of !== undefined) this.addDetails([writeDetail({ kind: 'text', text, ...of })])
    } else if (kind === 'text') this.addText(text, this.takeProbabilities())
    else this.addRefusal(text)
  }

  private begin(kind: string, fields: JsonObject): OpenItem {
    this.contentBytes += ITEM_BYTES
    const index = this.output.length
    const item = { id: `${kind}_${this.about.parts.newId()}`, ...fields }
    this.output.push(item)
    return { index, item }
  }

  private done({ index, item }: OpenItem): void {
    this.output[index] = item
    this.emit('response.output_item.done', { output_index: index, item })
  }

  // Reasoning

  private openReasoning(): OpenReasoning {
    if (this.reasoning !== undefined) return this.reasoning
    this.endMessage(false)
    const open = this.begin('rs', { type: 'reasoning', summary: [] })
    this.reasoning = { ...open, text: '', details: [] }
    this.emit('response.output_item.added', { output_index: open.index, item: open.item })
    return this.reasoning
  }

  private get encryptsReasoning(): boolean {
    return this.about.include.has(ENCRYPTED_REASONING)
  }

  private addReasoning(text: string): void {
    const reasoning = this.openReasoning()
    const place = summaryPlace(reasoning)
    if (reasoning.text === '') {
      this.emit('response.reasoning_summary_part.added', {
        ...place,
        part: { type: 'summary_text', text: '' },
      })
    }
    reasoning.text += text
    this.contentBytes += text.length
    this.emit('response.reasoning_summary_text.delta', { ...place, delta: text })
  }

  private addDetails(details: readonly Members[]): void {
    this.contentBytes += memorySize(details)
    // Pieces that only repeat the text start no item of their own.
    if (this.reasoning === undefined && !details.some(isSigned)) return
    this.openReasoning().details.push(...details)
  }

  private endReasoning(isCut: boolean): void {
    const { reasoning } = this
    if (reasoning === undefined) return
    this.reasoning = undefined
    const { details, index, item, text } = reasoning
    const summary = text === '' ? [] : [{ type: 'summary_text', text }]
    if (text !== '') {
      const place = summaryPlace(reasoning)
      this.emit('response.reasoning_summary_text.done', { ...place, text })
      this.emit('response.reasoning_summary_part.done', { ...place, part: summary[0] })
    }
    const whole: OutputItem = { ...item, summary }
    if (!isCut) this.thoughts.set(index, details)
    if (this.encryptsReasoning && !isCut) {
      const joined = joinDetails(details)
      // The next request merges all reasoning of a reply into one message.
      this.sealable -= joined.length
      const { provider } = this.about.parts.route
      const sealed = this.sealable < 0 ? undefined : sealReasoning({ provider, details: joined })
      if (sealed !== undefined) whole.encrypted_content = sealed
    }
    this.done({ index, item: whole })
  }

  // Messages

  /** A provider of this API marks each message as the answer or as commentary on the way to it. */
  private beginMessage(phase: Phase): void {
    this.endMessage(false)
    this.openMessage(phase)
  }

  private openMessage(phase?: Phase): OpenMessage {
    if (this.message !== undefined) return this.message
    this.endReasoning(false)
    const fields = { type: 'message', role: 'assistant', status: 'in_progress', content: NO_CONTENT }
    const open = this.begin('msg', phase === undefined ? fields : { ...fields, phase })
    this.message = { ...open, content: [] }
    this.emit('response.output_item.added', { output_index: open.index, item: open.item })
    return this.message
  }

  /** Returns the last part of the message if it is text. Otherwise starts one. */
  private openText(): OpenPart<TextPart> {
    const message = this.openMessage()
    const last = message.content.at(-1)
    if (last?.type === 'output_text') return { place: partPlace(message), part: last }
    return this.beginPart(message, { type: 'output_text', text: '', annotations: [], logprobs: [] })
  }

  private openRefusal(): OpenPart<RefusalPart> {
    const message = this.openMessage()
    const last = message.content.at(-1)
    if (last?.type === 'refusal') return { place: partPlace(message), part: last }
    return this.beginPart(message, { type: 'refusal', refusal: '' })
  }

  private beginPart<Part extends TextPart | RefusalPart>(message: OpenMessage, part: Part): OpenPart<Part> {
    this.endPart(message)
    message.content.push(part)
    const place = partPlace(message)
    this.emit('response.content_part.added', { ...place, part: { ...part } })
    return { place, part }
  }

  private takeProbabilities(): readonly unknown[] {
    const { probabilities } = this
    this.probabilities = NO_PROBABILITIES
    return probabilities
  }

  private addText(text: string, listed: readonly unknown[]): void {
    const { part, place } = this.openText()
    part.text += text
    this.contentBytes += text.length
    if (listed.length > 0) this.keepProbabilities(part, listed)
    this.emit('response.output_text.delta', { ...place, delta: text, logprobs: listed })
  }

  private keepProbabilities(part: TextPart, listed: readonly unknown[]): void {
    if (!this.keepsProbabilities) return
    this.probabilityBytes += memorySize(listed)
    for (const logprob of listed) part.logprobs.push(logprob)
    if (this.probabilityBytes <= this.mostProbabilityBytes) return
    this.keepsProbabilities = false
    this.forgetProbabilities()
  }

  private addRefusal(refusal: string): void {
    const { part, place } = this.openRefusal()
    part.refusal += refusal
    this.contentBytes += refusal.length
    this.emit('response.refusal.delta', { ...place, delta: refusal })
  }

  private addAnnotation(given: Members): void {
    const { url_citation: citation, ...rest } = given
    const annotation = isObject(citation) ? { ...rest, ...citation } : rest
    const { part, place } = this.openText()
    const { annotations } = part
    annotations.push(annotation)
    this.contentBytes += memorySize(annotation)
    this.emit('response.output_text.annotation.added', {
      ...place,
      annotation_index: annotations.length - 1,
      annotation,
    })
  }

  private endPart(message: OpenMessage): void {
    const part = message.content.at(-1)
    if (part === undefined) return
    const place = partPlace(message)
    if (part.type === 'refusal') this.emit('response.refusal.done', { ...place, refusal: part.refusal })
    else this.emit('response.output_text.done', { ...place, text: part.text, logprobs: part.logprobs })
    this.emit('response.content_part.done', { ...place, part })
  }

  private endMessage(isCut: boolean): void {
    const { message } = this
    if (message === undefined) return
    this.message = undefined
    this.endPart(message)
    const { content, index, item } = message
    this.done({ index, item: { ...item, status: isCut ? 'incomplete' : 'completed', content } })
  }

  // Images

  /**
   * Adds an image that the model made. An image item holds only bytes, so an image given by its address becomes text.
   */
  private addImage(address: string): void {
    const bytes = BASE64_IMAGE.exec(address)?.[1]
    if (bytes === undefined) {
      this.addText(imageText(address), NO_PROBABILITIES)
      return
    }
    this.contentBytes += bytes.length
    this.endReasoning(false)
    this.endMessage(false)
    const { index, item } = this.begin('ig', {
      type: 'image_generation_call',
      status: 'in_progress',
      result: null,
    })
    this.emit('response.output_item.added', { output_index: index, item })
    this.done({ index, item: { ...item, status: 'completed', result: bytes } })
  }

  // Calls

  private addCall(begun: CallBegin): void {
    const { call, id, signature } = begun
    if (signature !== undefined) this.keepSignature(call, id, signature)
    this.openCall(begun)
  }

  /** After a call has ended, only a signature may follow. */
  private addInput({ call, isWhole, signature, text }: CallInput): void {
    const place = this.places.get(call)
    if (signature !== undefined && place !== undefined) {
      this.keepSignature(call, String(this.output[place]!.call_id), signature)
    }
    const open = this.calls.get(call)
    if (open === undefined || text === '') return
    open.args += text
    this.contentBytes += text.length
    open.isWhole = isWhole
    if (open.kind === 'function_call') {
      this.emit('response.function_call_arguments.delta', { ...itemPlace(open), delta: text })
    } else if (open.isText) {
      this.emit('response.custom_tool_call_input.delta', { ...itemPlace(open), delta: text })
    }
  }

  /** Keeps the signature of a call as encrypted reasoning, since a call item has no field for it. */
  private keepSignature(call: number, callId: string, signature: string): void {
    if (this.signed.has(call) || !this.encryptsReasoning) return
    this.signed.add(call)
    const detail = signedCallDetail(callId, signature)
    if (this.places.has(call)) this.lateSignatures.push(detail)
    else this.openReasoning().details.push(detail)
  }

  private openCall({ call: key, form, id, name: sentName }: CallBegin): void {
    this.endReasoning(false)
    this.endMessage(false)
    this.endWholeCall()
    const isText = form === 'custom'
    const { item, name, namespace } = this.about.calledTools.get(sentName) ?? PLAIN_TOOL
    const kind = isText ? 'custom_tool_call' : item
    const fields: JsonObject = { type: kind, status: 'in_progress', call_id: id }
    if (kind === 'tool_search_call') {
      fields.execution = 'client'
      fields.arguments = {}
    } else {
      fields.name = name ?? sentName
      if (namespace !== undefined) fields.namespace = namespace
      fields[kind === 'function_call' ? 'arguments' : 'input'] = ''
    }
    const open = this.begin(CALL_PREFIXES[kind], fields)
    this.calls.set(key, { ...open, kind, isText, args: '', isWhole: false })
    this.lastCall = key
    this.places.set(key, open.index)
    this.emit('response.output_item.added', { output_index: open.index, item: open.item })
  }

  /** Ends the previous call if its arguments are complete. Fragments of an incomplete one may still come. */
  private endWholeCall(): void {
    const key = this.lastCall
    const call = key === undefined ? undefined : this.calls.get(key)
    if (key === undefined || call === undefined || call.isText || !call.isWhole) return
    this.calls.delete(key)
    this.endCall(call, false)
  }

  private endCalls(isCut: boolean): void {
    for (const call of this.calls.values()) this.endCall(call, isCut)
    this.calls.clear()
  }

  private endCall(call: OpenCall, isCut: boolean): void {
    const { args, index, isText, item, kind } = call
    const status = isCut ? 'incomplete' : 'completed'
    switch (kind) {
      case 'tool_search_call':
        this.done({ index, item: { ...item, status, arguments: searchArguments(args) } })
        return
      case 'function_call':
        this.emit('response.function_call_arguments.done', {
          ...itemPlace(call),
          name: item.name,
          arguments: args,
        })
        this.done({ index, item: { ...item, status, arguments: args } })
        return
      case 'custom_tool_call': {
        const input = isText ? args : toCustomInput(args)
        if (!isText && input !== '')
          this.emit('response.custom_tool_call_input.delta', { ...itemPlace(call), delta: input })
        this.emit('response.custom_tool_call_input.done', { ...itemPlace(call), input })
        this.done({ index, item: { ...item, status, input } })
      }
    }
  }
}

const CALL_PREFIXES = { function_call: 'fc', custom_tool_call: 'ctc', tool_search_call: 'tsc' }
/** The approximate memory of an item besides its text. */
const ITEM_BYTES = 512
const NO_CONTENT: readonly unknown[] = []
const NO_PROBABILITIES: readonly unknown[] = []
/** How a call is written whose tool the request does not name. */
const PLAIN_TOOL: Partial<CalledTool> & Pick<CalledTool, 'item'> = { item: 'function_call' }
const BASE64_IMAGE = /^data:[^,]{0,200};base64,(.*)$/s

/** Returns the arguments of a search as an object. Empty if the model wrote none. */
function searchArguments(args: string): JsonObject {
  const value = parseInner(args)
  // Any other text is a call that the model broke off.
  return isObject(value) ? value : {}
}

function itemPlace({ index, item }: OpenItem): JsonObject {
  return { item_id: item.id, output_index: index }
}

function summaryPlace(reasoning: OpenReasoning): JsonObject {
  return { ...itemPlace(reasoning), summary_index: 0 }
}

function partPlace(message: OpenMessage): JsonObject {
  return { ...itemPlace(message), content_index: message.content.length - 1 }
}

function isSigned({ data, signature }: Members): boolean {
  return isText(data) || isText(signature)
}
