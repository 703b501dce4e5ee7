import type { ProviderCall, ProviderEvent, TakeEvents } from '../contracts/providers.js'
import type { ChatMessage, ChatRequest } from '../protocol/chat-request.js'
import { isObject, type JsonObject } from '../protocol/json-values.js'
import { CALLS_DROPPED } from './plain-functions.js'

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
  const calls = new OlderCalls()
  return {
    call: { ...call, request },
    take: (events, heldBytes) =>
      take(
        events.flatMap((event) => calls.read(event)),
        heldBytes,
      ),
  }
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

/** The calls of one reply of a chat provider, of which each choice has the first one in the older form. */
class OlderCalls {
  /** The provider's number of that call, by choice. */
  private readonly first = new Map<unknown, unknown>()
  private hasDropped = false

  read(event: ProviderEvent): ProviderEvent[] {
    this.hasDropped = false
    const read = this.converted(event)
    return this.hasDropped ? [read, CALLS_DROPPED] : [read]
  }

  private converted(event: ProviderEvent): ProviderEvent {
    if (event.type === 'chunk') return { ...event, chunk: this.withChoices(event.chunk, 'delta') }
    if (event.type !== 'completion' || !isObject(event.completion)) return event
    return { ...event, completion: this.withChoices(event.completion, 'message') }
  }

  private withChoices<Reply extends JsonObject>(reply: Reply, member: 'delta' | 'message'): Reply {
    const { choices } = reply
    if (!Array.isArray(choices)) return reply
    return { ...reply, choices: choices.map((choice) => this.ofChoice(choice, member)) }
  }

  private ofChoice(choice: unknown, member: 'delta' | 'message'): unknown {
    const said = isObject(choice) ? choice[member] : undefined
    if (!isObject(choice) || !isObject(said) || !Array.isArray(said.tool_calls)) return choice
    const { tool_calls: calls, ...others } = said
    for (const { function: called, index } of calls.filter(isObject)) {
      if (!this.first.has(choice.index)) this.first.set(choice.index, index)
      if (this.first.get(choice.index) === index && others.function_call === undefined)
        others.function_call = called
      else this.hasDropped = true
    }
    return { ...choice, [member]: others }
  }
}
