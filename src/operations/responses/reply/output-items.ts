import { toCustomInput } from '../../../conversation/custom-tools.js'
import { parseInner } from '../../../protocol/inner-json.js'
import { JsonBrackets } from '../../../protocol/json-brackets.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import { memorySize } from '../../../protocol/memory-size.js'
import { MAX_DETAILS } from '../../../protocol/request-fields/messages.js'
import { signedCallDetail } from '../../../replies/call-signatures.js'
import { imageAddress, imageText } from '../../../replies/image-text.js'
import { joinDetails } from '../../../replies/reasoning-details.js'
import { toKept } from '../recall/kept-item.js'
import { ENCRYPTED_REASONING } from '../request/read-request.js'
import type { CalledTool } from '../request/read-tools.js'
import { sealReasoning } from '../request/sealed-reasoning.js'
import { type AboutResponse, incompleteReason } from './response-object.js'

/** Receives each event of a response, without its sequence number. */
export type EmitEvent = (type: string, fields: JsonObject) => void

interface OpenItem {
  readonly index: number
  readonly item: JsonObject
}
interface OpenMessage extends OpenItem {
  readonly content: JsonObject[]
}
interface OpenReasoning extends OpenItem {
  text: string
  readonly details: JsonObject[]
}
interface OpenCall extends OpenItem {
  readonly kind: CalledTool['item']
  /** Whether the provider sends the tool's input as text. Otherwise the input is an argument of a function. */
  readonly isText: boolean
  readonly brackets: JsonBrackets
  args: string
}

/**
 * Turns the deltas of one choice into the items of a response and their events. Items start in the order of their
 * deltas.
 */
export class OutputItems {
  /** Every item that has started, in order. Ended items are complete. */
  readonly output: JsonObject[] = []
  /** Undefined until there is one. */
  finishReason: unknown
  private message: OpenMessage | undefined
  private reasoning: OpenReasoning | undefined
  private readonly calls = new Map<unknown, OpenCall>()
  /** The index of the call that started last. */
  private lastCall: unknown
  /** Calls whose signature is already kept. */
  private readonly signed = new Set<unknown>()
  /** Signatures that came after their calls had started. */
  private readonly lateSignatures: JsonObject[] = []
  /** The number of details that may still be sealed. */
  private sealable = MAX_DETAILS
  /** The position of each call among the items. */
  private readonly places = new Map<unknown, number>()
  /** The pieces of each complete thought, by its position among the items. */
  private readonly thoughts = new Map<number, readonly JsonObject[]>()
  /** The approximate memory of the items, without log probabilities. */
  private contentBytes = 0
  private probabilityBytes = 0
  private keepsProbabilities = true

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

  /** Adds a choice of a chunk. */
  add({ delta, finish_reason: reason, logprobs }: JsonObject): void {
    if (isObject(delta)) this.addDelta(delta, logprobs)
    if (reason !== null && reason !== undefined) this.finishReason = reason
  }

  /** Adds the message of a whole reply. */
  addMessage(message: JsonObject, logprobs: unknown): void {
    const { tool_calls: calls, ...rest } = message
    this.addDelta(rest, logprobs)
    if (Array.isArray(calls)) for (const [index, call] of calls.entries()) this.addCall({ ...call, index })
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

  /** Yields the JSON of all items in pieces of latin1. Each piece is written when it is asked for. */
  *pieces(): Generator<string, void> {
    yield '['
    for (const [index, item] of this.output.entries()) {
      yield `${index === 0 ? '' : ','}${toLatin1(JSON.stringify(item))}`
    }
    yield ']'
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
      recent.keep(item.id as string, () => toKept(item, { content, details, provider }))
    }
  }

  private addDelta(delta: JsonObject, logprobs: unknown): void {
    const {
      annotations,
      content,
      images,
      phase,
      reasoning,
      reasoning_details: details,
      refusal,
      tool_calls: calls,
    } = delta
    if (isText(reasoning)) this.addReasoning(reasoning)
    if (Array.isArray(details)) this.addDetails(details.filter(isObject))
    if (PHASES.has(phase)) this.beginPhase(phase)
    if (isText(content)) this.addText(content, logprobs)
    if (isText(refusal)) this.addRefusal(refusal)
    if (Array.isArray(annotations)) for (const annotation of annotations) this.addAnnotation(annotation)
    if (Array.isArray(images)) for (const image of images) this.addImage(image)
    if (Array.isArray(calls)) for (const call of calls) if (isObject(call)) this.addCall(call)
  }

  private begin(kind: string, fields: JsonObject): OpenItem {
    this.contentBytes += ITEM_BYTES
    const index = this.output.length
    const item: JsonObject = { id: `${kind}_${this.about.parts.newId()}`, ...fields }
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

  private addDetails(details: readonly JsonObject[]): void {
    if (details.length === 0) return
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
    const whole: JsonObject = { ...item, summary }
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
  private beginPhase(phase: unknown): void {
    this.endMessage(false)
    this.openMessage(phase)
  }

  private openMessage(phase?: unknown): OpenMessage {
    if (this.message !== undefined) return this.message
    this.endReasoning(false)
    const fields = { type: 'message', role: 'assistant', status: 'in_progress', content: [] as JsonObject[] }
    const open = this.begin('msg', phase === undefined ? fields : { ...fields, phase })
    this.message = { ...open, content: [] }
    this.emit('response.output_item.added', { output_index: open.index, item: open.item })
    return this.message
  }

  /** Returns the last part of the message if it has this type. Otherwise starts one. */
  private openPart(type: 'output_text' | 'refusal'): { place: JsonObject; part: JsonObject } {
    const message = this.openMessage()
    const last = message.content.at(-1)
    if (last?.type === type) return { place: partPlace(message), part: last }
    if (last !== undefined) this.endPart(message)
    const part: JsonObject =
      type === 'refusal' ? { type, refusal: '' } : { type, text: '', annotations: [], logprobs: [] }
    message.content.push(part)
    const place = partPlace(message)
    this.emit('response.content_part.added', { ...place, part: { ...part } })
    return { place, part }
  }

  private addText(text: string, logprobs: unknown): void {
    const { part, place } = this.openPart('output_text')
    const listed = isObject(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : []
    part.text += text
    this.contentBytes += text.length
    if (listed.length > 0) this.keepProbabilities(part, listed)
    this.emit('response.output_text.delta', { ...place, delta: text, logprobs: listed })
  }

  private keepProbabilities(part: JsonObject, listed: readonly unknown[]): void {
    if (!this.keepsProbabilities) return
    this.probabilityBytes += memorySize(listed)
    for (const logprob of listed) (part.logprobs as unknown[]).push(logprob)
    if (this.probabilityBytes <= this.mostProbabilityBytes) return
    this.keepsProbabilities = false
    this.forgetProbabilities()
  }

  private addRefusal(refusal: string): void {
    const { part, place } = this.openPart('refusal')
    part.refusal += refusal
    this.contentBytes += refusal.length
    this.emit('response.refusal.delta', { ...place, delta: refusal })
  }

  private addAnnotation(given: unknown): void {
    if (!isObject(given)) return
    const { url_citation: citation, ...rest } = given
    const annotation = isObject(citation) ? { ...rest, ...citation } : rest
    const { part, place } = this.openPart('output_text')
    const annotations = part.annotations as JsonObject[]
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
  private addImage(image: unknown): void {
    const address = imageAddress(image)
    if (address === undefined) return
    const bytes = BASE64_IMAGE.exec(address)?.[1]
    if (bytes === undefined) {
      this.addText(imageText(address), undefined)
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

  private addCall(call: JsonObject): void {
    this.keepSignature(call)
    // After a call has ended, only a provider's own fields, such as a signature, may follow.
    if (this.places.has(call.index) && !this.calls.has(call.index)) return
    const details = (call.function ?? call.custom) as JsonObject
    const piece = String(details.arguments ?? details.input ?? '')
    const open = this.calls.get(call.index) ?? this.openCall(call, details.name)
    if (piece === '') return
    open.args += piece
    this.contentBytes += piece.length
    open.brackets.take(piece)
    if (open.kind === 'function_call') {
      this.emit('response.function_call_arguments.delta', { ...itemPlace(open), delta: piece })
    } else if (open.isText) {
      this.emit('response.custom_tool_call_input.delta', { ...itemPlace(open), delta: piece })
    }
  }

  /** Keeps the signature of a call as encrypted reasoning, since a call item has no field for it. */
  private keepSignature({ extra_content, id, index }: JsonObject): void {
    const place = this.places.get(index)
    const callId = place === undefined ? id : this.output[place]!.call_id
    const signature = signedCallDetail({ extra_content, id: callId })
    if (signature === undefined || this.signed.has(index) || !this.encryptsReasoning) return
    this.signed.add(index)
    if (place === undefined) this.openReasoning().details.push(signature)
    else this.lateSignatures.push(signature)
  }

  private openCall({ custom, id, index: key }: JsonObject, sentName: unknown): OpenCall {
    this.endReasoning(false)
    this.endMessage(false)
    this.endWholeCall()
    const isText = isObject(custom)
    const tool = this.about.calledTools.get(String(sentName))
    const { name, namespace } = tool ?? { name: sentName, namespace: undefined }
    const kind = isText ? 'custom_tool_call' : (tool?.item ?? 'function_call')
    const fields: JsonObject = { type: kind, status: 'in_progress', call_id: id }
    if (kind === 'tool_search_call') {
      fields.execution = 'client'
      fields.arguments = {}
    } else {
      fields.name = name
      if (namespace !== undefined) fields.namespace = namespace
      fields[kind === 'function_call' ? 'arguments' : 'input'] = ''
    }
    const open = this.begin(CALL_PREFIXES[kind], fields)
    const call = { ...open, kind, isText, brackets: new JsonBrackets(), args: '' }
    this.calls.set(key, call)
    this.lastCall = key
    this.places.set(key, open.index)
    this.emit('response.output_item.added', { output_index: open.index, item: open.item })
    return call
  }

  /** Ends the previous call if its arguments are complete. Fragments of an incomplete one may still come. */
  private endWholeCall(): void {
    const key = this.lastCall
    const call = this.calls.get(key)
    if (call === undefined || call.isText || !call.brackets.closed) return
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
const PHASES = new Set<unknown>(['commentary', 'final_answer'])
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

function isSigned({ data, signature }: JsonObject): boolean {
  return isText(data) || isText(signature)
}
