import type { ProviderEvent } from '../../contracts/providers.js'
import { ProviderError } from '../../errors.js'
import { fromLatin1, isObject, type JsonObject, parseProviderObject } from '../provider-json.js'
import { frameError } from '../upstream-errors.js'
import { isPlainLine } from './plain-line.js'
import { readUsage, type UnlistedTokens } from './usage.js'

/** Reads one event of a stream. `true` for `[DONE]`. */
export function readEvent(
  data: string,
  type: string | undefined,
  events: ProviderEvent[],
  unlistedTokens: UnlistedTokens,
): boolean {
  if (data.startsWith('[DONE]')) return true
  if (type === 'error') throw frameError(parseLoosely(fromLatin1(data)))
  if (isPlainLine(data)) {
    events.push({ type: 'data', bytes: data })
    return false
  }
  if (data.trim() === '') return false
  const { rest, usage } = takeUsage(parseProviderObject(fromLatin1(data)))
  const report = readUsage(usage, unlistedTokens)
  if (isFailure(rest)) {
    if (report !== undefined) events.push({ type: 'usage', usage: report })
    throw frameError(rest)
  }
  events.push({ type: 'chunk', chunk: { ...rest, choices: readChoices(rest.choices) } })
  if (report !== undefined) events.push({ type: 'usage', usage: report })
  return false
}

/** Reads a reply in one body. */
export function readBody(text: string, events: ProviderEvent[], unlistedTokens: UnlistedTokens): void {
  const { rest, usage } = takeUsage(parseProviderObject(text))
  const report = readUsage(usage, unlistedTokens)
  if (isFailure(rest)) throw frameError(rest)
  const choices = readChoices(rest.choices)
  if (choices === undefined) throw new ProviderError('invalid-response', 'The reply has no list of choices.')
  events.push({ type: 'completion', completion: { ...rest, choices } })
  if (report !== undefined) events.push({ type: 'usage', usage: report })
}

function readChoices(choices: unknown): readonly unknown[] | undefined {
  if (choices === undefined || choices === null) return undefined
  if (Array.isArray(choices)) return choices
  throw new ProviderError('invalid-response', 'The choices of the reply are not a list.')
}

/** Groq repeats its usage in `x_groq`, and may have it there alone; Moonshot puts it in the last choice. */
function takeUsage(reply: JsonObject): { rest: JsonObject; usage: unknown } {
  const { usage, x_groq: groq, ...rest } = reply
  let usageOfChoice: unknown
  if (Array.isArray(rest.choices) && rest.choices.some((choice) => isObject(choice) && 'usage' in choice)) {
    if (rest.choices.length === 1) usageOfChoice = rest.choices[0].usage
    rest.choices = rest.choices.map((choice: unknown) => {
      if (!isObject(choice)) return choice
      const { usage: _, ...other } = choice
      return other
    })
  }
  return { rest, usage: usage ?? (isObject(groq) ? groq.usage : undefined) ?? usageOfChoice }
}

function isFailure(reply: JsonObject): boolean {
  return (
    (reply.error !== undefined && reply.error !== null) || (reply.object === 'error' && !('choices' in reply))
  )
}

function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
