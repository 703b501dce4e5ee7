import type { AdapterRun, ProviderEvent } from '../contracts/providers.js'
import type { ConversationRequest } from '../conversation/conversation.js'
import { CustomInput, functionForCustom } from '../conversation/custom-tools.js'
import type { CallPiece, ProviderDelta } from '../conversation/delta.js'
import type { ConversationSettings, CustomTool, Tool } from '../conversation/settings.js'

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
    const calls = new GivenCalls(custom, olderTools)
    return run({ ...call, request }, (events, heldBytes) =>
      take(
        events.flatMap((event) => calls.read(event)),
        heldBytes,
      ),
    )
  }
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

/** Tells the host that a client of the older form could not get every call. */
export const CALLS_DROPPED: ProviderEvent = Object.freeze({
  type: 'mended',
  kind: 'calls-dropped',
  dropped: 'tool_calls',
})

/** The calls of one reply, which become those that the client can read. */
class GivenCalls {
  private readonly choices = new Map<number, CallsOfChoice>()

  constructor(
    private readonly custom: ReadonlySet<string>,
    private readonly isOlder: boolean,
  ) {}

  read(event: ProviderEvent): ProviderEvent[] {
    if (event.type !== 'deltas') return [event]
    const deltas: ProviderDelta[] = []
    let hasDropped = false
    for (const delta of event.deltas) {
      if (delta.type === 'end') deltas.push(...this.of(delta).rest(), delta)
      else if (delta.type !== 'call') deltas.push(delta)
      else {
        const given = this.of(delta).withCustomInput(delta, this.custom)
        if (!this.isOlder) deltas.push(given)
        else if (this.of(delta).isFirst(delta)) deltas.push({ ...given, form: 'older' })
        else hasDropped = true
      }
    }
    const read = { ...event, deltas }
    return hasDropped ? [read, CALLS_DROPPED] : [read]
  }

  private of({ choice }: ProviderDelta): CallsOfChoice {
    const calls = this.choices.get(choice) ?? new CallsOfChoice(choice)
    this.choices.set(choice, calls)
    return calls
  }
}

/** The calls of one choice. */
class CallsOfChoice {
  /** The inputs of custom tools, by call. */
  private readonly inputs = new Map<CallPiece['call'], CustomInput>()
  /** The only call that the choice has in the older form. */
  private first: Pick<CallPiece, 'call'> | undefined

  constructor(private readonly choice: number) {}

  /** Whether a piece belongs to the first call. */
  isFirst({ call }: CallPiece): boolean {
    this.first ??= { call }
    return this.first.call === call
  }

  /** Returns a piece with text instead of the arguments of a function that stands for a custom tool. */
  withCustomInput(piece: CallPiece, custom: ReadonlySet<string>): CallPiece {
    const { inputs } = this
    const { call, name } = piece
    if (name !== undefined && custom.has(name) && !inputs.has(call)) inputs.set(call, new CustomInput())
    const input = inputs.get(call)
    if (input === undefined) return piece
    const text = input.take(piece.input)
    const whole = piece.isLast === true ? text + input.end() : text
    return { ...piece, form: 'custom', input: whole, event: undefined }
  }

  /** Returns what only the end of the choice shows to be the input. */
  rest(): CallPiece[] {
    const { choice, inputs } = this
    return [...inputs]
      .map(([call, input]): CallPiece => ({ type: 'call', choice, call, form: 'custom', input: input.end() }))
      .filter(({ input }) => input !== '')
  }
}
