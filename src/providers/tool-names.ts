import type { AdapterRun, ProviderRequest } from '../contracts/providers.js'
import {
  fittingNames,
  NAMES_IN_CHAT,
  NAMES_IN_CONVERSATION,
  NAMES_IN_MESSAGES,
  NAMES_IN_RESPONSES,
  type NamePlace,
  type NameRule,
  PLAIN_NAME,
  renamed,
} from '../conversation/tool-names.js'
import { MAX_NAME_CHARS } from '../protocol/request-fields/reading.js'

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
 * Returns an adapter's method that sends only names of tools that its API takes, in tools, choices and history. The
 * reply gets the names with which clients know them. A request whose names all fit is passed on unchanged.
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
    const names = new Map<string, string>()
    // A name of the history may be longer than a tool's. In a reply it stays as it was sent.
    for (const [name, fitted] of sent) if (name.length <= MAX_NAME_CHARS) names.set(fitted, name)
    const fitting = { ...call, request: renamed(request, place, (name) => sent.get(name) ?? name) }
    let areKnown = false
    return run(fitting, (events, heldBytes) => {
      if (areKnown || events.length === 0) return take(events, heldBytes)
      areKnown = true
      return take([{ type: 'tool-names', names }, ...events], heldBytes)
    })
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
