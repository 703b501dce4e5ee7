import type { AdapterRun, ProviderEvent, ProviderRequest } from '../contracts/providers.js'
import type { ProviderDelta } from '../conversation/delta.js'
import {
  fittingNames,
  NAMES_IN_CHAT,
  NAMES_IN_CHAT_REPLY,
  NAMES_IN_CONVERSATION,
  NAMES_IN_MESSAGES,
  NAMES_IN_MESSAGES_REPLY,
  NAMES_IN_RESPONSES,
  type NamePlace,
  type NameRule,
  PLAIN_NAME,
  renamed,
} from '../conversation/tool-names.js'
import { isObject } from '../protocol/json-values.js'
import { fromLatin1 } from '../protocol/latin1.js'
import { parseLoosely } from './provider-json.js'

/** The names of tools that each API takes. Gemini, Kimi and the AI SDK's other models have narrower rules. */
export const TOOL_NAMES = {
  chat: { fitting: /^[\w-]{1,64}$/, mostChars: 64 },
  responses: { fitting: /^[\w-]{1,128}$/, mostChars: 128 },
  messages: { fitting: /^[\w-]{1,128}$/, mostChars: 128 },
  plain: PLAIN_NAME,
} as const satisfies Readonly<Record<string, NameRule>>

const PLACES = {
  conversation: NAMES_IN_CONVERSATION,
  chat: NAMES_IN_CHAT,
  responses: NAMES_IN_RESPONSES,
  messages: NAMES_IN_MESSAGES,
} as const

/**
 * Returns an adapter's method that sends only names of tools that its API takes, in tools, choices and history. Clients
 * get back their own names. A request whose names all fit is passed on unchanged.
 *
 * @param api the API of the request, which need not be that of the provider
 */
export function withFittingNames<Request extends ProviderRequest>(
  api: keyof typeof PLACES,
  rule: NameRule,
  run: AdapterRun<Request>,
): AdapterRun<Request> {
  const place = PLACES[api]
  return (call, take) => {
    const { request } = call
    if (allFit(request, place, rule)) return run(call, take)
    const sent = fittingNames(namesIn(request, place), rule)
    const given = new Map([...sent].map(([name, fitted]) => [fitted, name]))
    const back = (name: string): string => given.get(name) ?? name
    return run(
      {
        ...call,
        request: renamed(request, place, (name) => sent.get(name) ?? name),
      },
      (events, heldBytes) =>
        take(
          events.map((event) => withOwnNames(event, back)),
          heldBytes,
        ),
    )
  }
}

function allFit(request: ProviderRequest, place: NamePlace, { fitting }: NameRule): boolean {
  let fits = true
  renamed(request, place, (name) => {
    fits &&= fitting.test(name)
    return name
  })
  return fits
}

function namesIn(request: ProviderRequest, place: NamePlace): ReadonlySet<string> {
  const names = new Set<string>()
  renamed(request, place, (name) => {
    names.add(name)
    return name
  })
  return names
}

function withOwnNames(event: ProviderEvent, back: (name: string) => string): ProviderEvent {
  switch (event.type) {
    case 'deltas':
      return { ...event, deltas: event.deltas.map((delta) => withOwnName(delta, back)) }
    case 'data':
      return MAY_NAME.test(event.bytes) ? parsed(event, back) : event
    case 'chunk':
      return { ...event, chunk: renamed(event.chunk, NAMES_IN_CHAT_REPLY, back) }
    case 'completion':
      return { ...event, completion: renamed(event.completion, NAMES_IN_CHAT_REPLY, back) }
    case 'native':
      return { ...event, value: renamed(event.value, NAMES_IN_MESSAGES_REPLY, back) }
    default:
      return event
  }
}

function withOwnName(delta: ProviderDelta, back: (name: string) => string): ProviderDelta {
  return delta.type === 'call' && delta.name !== undefined ? { ...delta, name: back(delta.name) } : delta
}

const MAY_NAME = /"(?:tool_calls|function_call)"/

/** Parses an event that may have a name. */
function parsed(event: ProviderEvent & { type: 'data' }, back: (name: string) => string): ProviderEvent {
  const chunk = parseLoosely(fromLatin1(event.bytes))
  return isObject(chunk) ? { type: 'chunk', chunk: renamed(chunk, NAMES_IN_CHAT_REPLY, back) } : event
}
