import type { AdapterRun, ProviderCall, ProviderEvent, TakeEvents } from '../contracts/providers.js'
import type { ConversationRequest } from '../conversation/conversation.js'
import { CustomInput, functionForCustom, toCustomInput } from '../conversation/custom-tools.js'
import type { CallPiece, ProviderDelta } from '../conversation/delta.js'
import type { ConversationSettings, CustomTool, Tool } from '../conversation/settings.js'
import type { ChatMessage, ChatRequest } from '../protocol/chat-request.js'
import { isObject, isText, type JsonObject, textOf } from '../protocol/json-values.js'

/** What a provider's API takes beside functions in `tools`. */
export interface TakenTools {
  readonly customTools: boolean
  /** Whether it can be told to make one call at a time. The older form has room for one. */
  readonly singleCalls: boolean
}

/**
 * Returns an adapter's method for an API that has no older form of tools, and perhaps no custom tools. The provider gets
 * functions instead. Clients get back calls in the form in which they named the tools. A request that has neither is
 * passed on unchanged.
 */
export function withPlainFunctions(
  { customTools, singleCalls }: TakenTools,
  run: AdapterRun<ConversationRequest>,
): AdapterRun<ConversationRequest> {
  return (call, take) => {
    const { olderTools = false, tools } = call.request.settings
    const custom = new Set(customTools ? [] : tools.filter(isCustom).map(({ name }) => name))
    if (!olderTools && custom.size === 0) return run(call, take)
    const settings = { ...call.request.settings, olderTools: undefined }
    if (custom.size > 0) Object.assign(settings, plainTools(settings))
    if (olderTools && singleCalls) settings.parallelCalls = false
    const request: ConversationRequest = { ...call.request, settings }
    return run({ ...call, request }, taking(new GivenCalls(custom, olderTools), take))
  }
}

function taking(calls: GivenCalls, take: TakeEvents): TakeEvents {
  return (events, heldBytes) =>
    take(
      events.flatMap((event) => calls.read(event)),
      heldBytes,
    )
}

const isCustom = (tool: Tool): tool is CustomTool => tool.kind === 'custom'

/** Returns the tools and the choice with functions instead of custom tools. */
function plainTools({
  toolChoice,
  tools,
}: ConversationSettings): Pick<ConversationSettings, 'toolChoice' | 'tools'> {
  const isChosen = typeof toolChoice === 'object' && toolChoice.kind === 'custom'
  return {
    tools: tools.map((tool) => (isCustom(tool) ? functionForCustom(tool) : tool)),
    toolChoice: isChosen ? { kind: 'function', name: toolChoice.name } : toolChoice,
  }
}

interface Exchange {
  readonly call: ProviderCall<ChatRequest>
  readonly take: TakeEvents
}

/**
 * Returns a call whose functions, calls and results have today's form, for a chat provider that does not know the older
 * one. Undefined if it has none of the older form.
 */
export function withoutOlderForm(call: ProviderCall<ChatRequest>, take: TakeEvents): Exchange | undefined {
  const { function_call: choice, functions, messages, tools } = call.request
  if (functions === undefined && !messages.some(isOlder)) return undefined
  const request: ChatRequest = Object.assign({}, call.request, { messages: toTodaysForm(messages) })
  if (!Array.isArray(functions)) return { call: { ...call, request }, take }
  const older = functions.map((definition: unknown) => ({ type: 'function', function: definition }))
  Object.assign(request, {
    functions: undefined,
    function_call: undefined,
    tools: [...(Array.isArray(tools) ? tools : []), ...older],
    parallel_tool_calls: false,
    ...(choice !== undefined && {
      tool_choice: isObject(choice) ? { type: 'function', function: { name: choice.name } } : choice,
    }),
  })
  return { call: { ...call, request }, take: taking(new GivenCalls(new Set(), true), take) }
}

function isOlder({ function_call: called, role }: ChatMessage): boolean {
  return role === 'function' || isObject(called)
}

/** A call in the older form has no id, and its result is the next message of the role `function`. */
function toTodaysForm(messages: readonly ChatMessage[]): ChatMessage[] {
  let id = ''
  return messages.map((message, index) => {
    const { function_call: called, name, ...rest } = message
    if (message.role === 'function') return { ...rest, role: 'tool', tool_call_id: id || String(name) }
    if (!isObject(called)) return message
    id = `function_call_${index}`
    return { ...rest, role: message.role, tool_calls: [{ id, type: 'function', function: called }] }
  })
}

const DROPPED: ProviderEvent = Object.freeze({
  type: 'mended',
  kind: 'calls-dropped',
  dropped: 'tool_calls',
})

/** The calls of one reply, which become those that the client can read. */
class GivenCalls {
  /** The inputs of custom tools that are under way, by choice and call. */
  private readonly inputs = new Map<string, CustomInput>()
  /** The call that each choice has in the older form. */
  private readonly older = new Map<unknown, unknown>()
  private dropped = false

  constructor(
    private readonly custom: ReadonlySet<string>,
    private readonly isOlder: boolean,
  ) {}

  read(event: ProviderEvent): ProviderEvent[] {
    this.dropped = false
    if (event.type === 'deltas') {
      const deltas = event.deltas.flatMap((delta) => this.ofDelta(delta))
      return this.dropped ? [{ ...event, deltas }, DROPPED] : [{ ...event, deltas }]
    }
    if (event.type !== 'chunk' && event.type !== 'completion') return [event]
    const read: ProviderEvent =
      event.type === 'chunk'
        ? { ...event, chunk: this.withChoices(event.chunk, (choice) => this.ofStream(choice)) }
        : {
            ...event,
            completion: this.withChoices(event.completion as JsonObject, (choice) => this.ofBody(choice)),
          }
    return this.dropped ? [read, DROPPED] : [read]
  }

  private ofDelta(delta: ProviderDelta): readonly ProviderDelta[] {
    const { choice } = delta
    if (delta.type === 'end') return [...this.endInputs(choice), delta]
    if (delta.type !== 'call') return [delta]
    const given = this.withCustomInput(delta)
    if (!this.isOlder) return [given]
    if (!this.older.has(choice)) this.older.set(choice, delta.call)
    if (this.older.get(choice) === delta.call) return [{ ...given, form: 'older' }]
    this.dropped = true
    return []
  }

  private withCustomInput(piece: CallPiece): CallPiece {
    const { call, choice, name } = piece
    const key = keyOf(choice, call)
    if (name !== undefined && this.custom.has(name) && !this.inputs.has(key))
      this.inputs.set(key, new CustomInput())
    const input = this.inputs.get(key)
    if (input === undefined) return piece
    const text = input.take(piece.input)
    const whole = piece.isLast === true ? text + input.end() : text
    return { ...piece, form: 'custom', input: whole, event: undefined }
  }

  private endInputs(choice: number): CallPiece[] {
    return this.ends(choice).map(({ custom, index }) => {
      const { input } = custom as { input: string }
      return { type: 'call', choice, call: index as number, form: 'custom', input }
    })
  }

  private withChoices(reply: JsonObject, convert: (choice: JsonObject) => JsonObject) {
    const { choices } = reply
    if (!Array.isArray(choices)) return reply
    return { ...reply, choices: choices.map((choice) => (isObject(choice) ? convert(choice) : choice)) }
  }

  private ofStream(choice: JsonObject): JsonObject {
    const { delta, finish_reason: reason, index: at } = choice
    const given = isObject(delta) ? delta : {}
    const pieces = callsIn(given).map((piece) => this.pieceOf(piece, at))
    if (reason !== null && reason !== undefined) pieces.push(...this.ends(at))
    return pieces.length === 0 ? choice : { ...choice, delta: this.withCalls(given, pieces, at) }
  }

  private pieceOf(piece: JsonObject, choice: unknown): JsonObject {
    const { function: called, id, index } = piece
    const { arguments: args, name } = isObject(called) ? called : {}
    const key = keyOf(choice, index)
    if (isText(name) && this.custom.has(name) && !this.inputs.has(key))
      this.inputs.set(key, new CustomInput())
    const input = this.inputs.get(key)
    if (input === undefined) return piece
    const custom = { ...(isText(name) && { name }), input: input.take(textOf(args) ?? '') }
    return { index, ...(isText(id) && { id, type: 'custom' }), custom }
  }

  private ends(choice: unknown): JsonObject[] {
    return [...this.inputs].flatMap(([key, input]) => {
      const [ofChoice, index] = JSON.parse(key)
      const rest = ofChoice === (choice ?? null) ? input.end() : ''
      return rest === '' ? [] : [{ index, custom: { input: rest } }]
    })
  }

  private ofBody(choice: JsonObject): JsonObject {
    const { message } = choice
    const calls = isObject(message) ? callsIn(message) : []
    if (!isObject(message) || calls.length === 0) return choice
    const given = calls.map((call) => {
      const { function: called, id } = call
      const { arguments: args, name } = isObject(called) ? called : {}
      if (!isText(name) || !this.custom.has(name)) return call
      return { id, type: 'custom', custom: { name, input: toCustomInput(textOf(args) ?? '') } }
    })
    return { ...choice, message: this.withCalls(message, given, choice.index) }
  }

  /** Returns a delta or a message with these calls. In the older form it has the first one. */
  private withCalls(fields: JsonObject, calls: readonly JsonObject[], choice: unknown): JsonObject {
    if (!this.isOlder) return { ...fields, tool_calls: calls }
    const { tool_calls: _, ...rest } = fields
    for (const { function: called, index } of calls) {
      if (!this.older.has(choice)) this.older.set(choice, index)
      if (this.older.get(choice) === index && rest.function_call === undefined) rest.function_call = called
      else this.dropped = true
    }
    return rest
  }
}

function callsIn({ tool_calls: calls }: JsonObject): readonly JsonObject[] {
  return Array.isArray(calls) ? calls.filter(isObject) : []
}

function keyOf(choice: unknown, call: unknown): string {
  return JSON.stringify([choice ?? null, call ?? null])
}
