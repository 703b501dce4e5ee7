import { isDeepStrictEqual } from 'node:util'
import { type Carried, plainInput, type Told } from './carried.js'
import type { Call, Json, Part, Result, Settings, Shape, Target, Tool, Turn } from './shape.js'

/** What a provider must be told, by the conversation alone. */
export interface Due {
  /** In this order, each once. */
  readonly spine: readonly Carried[]
  /** Anywhere, each once. */
  readonly anywhere: readonly Carried[]
  readonly tools: readonly string[]
  readonly settings: Settings
  /** Texts that the request must contain as they are. */
  readonly literally: readonly string[]
}

const DIGITS = /\d{17,}/g

/** Returns what a conversation tells a provider: results right behind the turn of their calls, in the order of these. */
export function dueOf({ settings = {}, tools = [], turns, unjudged }: Shape, to: Target): Due {
  const spine: Carried[] = []
  const anywhere: Carried[] = []
  // A result that is sent twice may be the same object, so each has its place.
  const results = turns.flatMap((turn, at) =>
    'results' in turn ? turn.results.map((result, index) => ({ result, at, place: `${at}.${index}` })) : [],
  )
  const given = new Set<string>()
  const called = new Set<string>()
  const hasBlankIds = turns.some((turn) => callsOf(turn).some(({ id }) => id === ''))
  /** Whether a result belongs to a call of a turn. One without an id answers the last reply with calls. */
  const belongs = ({ of }: Result, resultAt: number, id: string, at: number): boolean => {
    if (of !== '' || hasBlankIds) return of === id
    return turns.findLastIndex((turn, place) => place < resultAt && callsOf(turn).length > 0) === at
  }
  const addParts = (parts: string | readonly Part[], as: 'user'): void => {
    for (const part of typeof parts === 'string' ? [parts] : parts) {
      if (typeof part === 'string') addText(part, as)
      else anywhere.push({ as: 'media', text: mediaOf(part) })
    }
  }
  const addText = (text: string, as: 'user' | 'assistant'): void => {
    if (text.trim() !== '') spine.push({ as, text })
  }
  const addResult = (result: Result, input: string): void => {
    const parts = typeof result.says === 'string' ? [result.says] : result.says
    const texts = parts.filter((part) => typeof part === 'string')
    for (const part of parts) {
      if (typeof part !== 'string') anywhere.push({ as: 'media', text: mediaOf(part) })
    }
    // A result without a text is one all the same.
    for (const text of texts.length === 0 ? [''] : texts) spine.push({ as: 'result', text, of: input })
  }
  for (const [at, turn] of turns.entries()) {
    if ('system' in turn) anywhere.push({ as: 'system', text: turn.system })
    else if ('user' in turn) addParts(turn.user, 'user')
    else if ('results' in turn) {
      // Those of no call before them are text of the user.
      for (const [index, { of, says }] of turn.results.entries()) {
        const hasCall = of === '' && !hasBlankIds ? given.has(`${at}.${index}`) : called.has(of)
        if (!hasCall && typeof says === 'string') spine.push({ as: 'user', text: says })
      }
    } else {
      const calls: Call[] = []
      for (const text of ('means' in turn && turn.means) || []) anywhere.push({ as: 'system', text })
      for (const piece of turn.assistant ?? []) {
        if (typeof piece === 'string') addText(piece, 'assistant')
        else if ('refusal' in piece) addText(piece.refusal, 'assistant')
        else if ('call' in piece) calls.push(piece)
        else if (piece.mustReturn)
          spine.push({ as: 'thought', text: piece.thought, sealed: piece.sealed ?? '' })
      }
      for (const { call, input, namespace } of calls) {
        const name = namespace === undefined ? call : `${namespace}__${call}`
        spine.push({ as: 'call', text: plainInput(input), of: name })
      }
      for (const { id, input } of calls) {
        called.add(id)
        const found = results.find(
          (one) => one.at > at && belongs(one.result, one.at, id, at) && !given.has(one.place),
        )
        if (found === undefined) continue
        given.add(found.place)
        addResult(found.result, plainInput(input))
      }
    }
  }
  // Claude takes no white space at the end of a reply that it is to continue.
  const last = spine.at(-1)
  if (last?.as === 'assistant') spine[spine.length - 1] = { ...last, text: last.text.trimEnd() }
  return {
    spine,
    anywhere,
    tools: [
      ...tools.map(({ name, namespace }) => (namespace === undefined ? name : `${namespace}__${name}`)),
      ...turns.flatMap((turn) => ('native' in turn ? (turn.tools ?? []) : [])),
    ],
    settings: unjudged ? {} : withTools(settings, tools),
    // The AI SDK hands over values, not texts.
    literally: to.startsWith('sdk-')
      ? []
      : [
          ...turns.flatMap(callsOf).map(({ input }) => input),
          ...tools.map(({ schema }) => schema ?? ''),
          settings.schema ?? '',
        ].flatMap((text) => text.match(DIGITS) ?? []),
  }
}

/**
 * Returns settings without those that say nothing: of tools if there are none, and of calls at once if there are to be
 * none, or if the client has the older form, which has room for one.
 */
function withTools({ parallel, toolChoice, ...others }: Settings, tools: readonly Tool[]): Settings {
  const hasCalls = toolChoice !== 'none' && !tools.some(({ legacy }) => legacy)
  return {
    ...others,
    ...(tools.length > 0 && toolChoice !== undefined && { toolChoice }),
    ...(tools.length > 0 && hasCalls && parallel !== undefined && { parallel }),
  }
}

const callsOf = (turn: Turn): Call[] =>
  'assistant' in turn
    ? (turn.assistant ?? []).filter((piece) => typeof piece === 'object' && 'call' in piece)
    : []

const mediaOf = (part: Exclude<Part, string>) =>
  'image' in part ? part.image.slice(part.image.indexOf(',') + 1) : part.pdf

/** The data of all images and files of a conversation. */
export function mediaIn({ turns }: Shape): readonly string[] {
  return turns
    .flatMap((turn): (string | readonly Part[])[] => {
      if ('user' in turn) return [turn.user]
      return 'results' in turn ? turn.results.map(({ says }) => says) : []
    })
    .flatMap((parts) => (typeof parts === 'string' ? [] : parts))
    .flatMap((part) => (typeof part === 'string' ? [] : [mediaOf(part)]))
}

/** Sentences about what a provider was not told, or not in its place. Empty if all is well. */
export function differences(due: Due, told: Told, raw: string, without: ReadonlySet<string>): string[] {
  const faults: string[] = []
  let at = 0
  let offset = 0
  let last = 0
  for (const wanted of due.spine) {
    if (without.has(wanted.text)) {
      if (told.carried.some((one) => holds(one, wanted, 0) >= 0))
        faults.push(`${shown(wanted)} is not left out`)
      continue
    }
    // The results of one turn may come in any order.
    const isResult = wanted.as === 'result'
    if (!isResult && last > at) {
      at = last
      offset = 0
    }
    let found = false
    for (let index = at; index < told.carried.length && !found; index++) {
      const place = holds(told.carried[index]!, wanted, index === at && !isResult ? offset : 0)
      if (place < 0) continue
      found = true
      last = Math.max(last, index)
      if (isResult) continue
      at = index
      offset = place + Math.max(1, wanted.text.length)
    }
    if (found) continue
    const elsewhere = told.carried.find((one) => one.text.includes(wanted.text) && wanted.text !== '')
    faults.push(
      elsewhere === undefined
        ? `${shown(wanted)} is lost`
        : `${shown(wanted)} is out of its place, as ${elsewhere.as}`,
    )
  }
  for (const wanted of due.anywhere) {
    const count = told.carried.filter((one) => one.text.includes(wanted.text)).length
    if (without.has(wanted.text)) {
      if (count > 0) faults.push(`${shown(wanted)} is not left out`)
    } else if (count === 0) faults.push(`${shown(wanted)} is lost`)
  }
  for (const { text } of due.spine) {
    const isMarked = text.length > 8 && !without.has(text)
    const count = told.carried.filter(({ as, text: has }) => as !== 'thought' && has.includes(text)).length
    // A client may send the result of a call that is gone twice.
    if (isMarked && count > due.spine.filter((one) => one.text === text).length)
      faults.push(`'${cut(text)}' comes ${count} times`)
  }
  const twice = told.ids.find((id, index) => told.ids.indexOf(id) !== index)
  if (twice !== undefined) faults.push(`two calls have the id '${cut(twice)}'`)
  for (const name of due.tools) {
    if (without.has(name)) continue
    if (!told.tools.some((one) => isNamed(one, name))) faults.push(`the tool ${cut(name)} is lost`)
  }
  for (const digits of due.literally)
    if (!raw.includes(digits)) faults.push(`the digits ${digits} are changed`)
  for (const [name, value] of Object.entries(due.settings)) {
    const sent = (told.settings as Json)[name]
    if (without.has(name)) {
      if (sent !== undefined) faults.push(`the setting ${name} is not left out`)
    } else if (!isSetting(name, sent, value))
      faults.push(`the setting ${name} is ${cut(JSON.stringify(sent) ?? 'lost')}`)
  }
  return faults
}

/** The place at which something carried holds something due, or -1. */
function holds(one: Carried, wanted: Carried, from: number): number {
  if (one.as !== wanted.as && !(one.as === 'result' && wanted.as === 'user')) return -1
  if (wanted.as === 'call') return one.text === wanted.text && isNamed(one.of!, wanted.of!) ? 0 : -1
  if (wanted.sealed !== undefined && one.sealed !== wanted.sealed) return -1
  if (wanted.as === 'result' && one.of !== wanted.of) return -1
  return one.text.indexOf(wanted.text, from)
}

/** A name of a tool that was cut to a provider's limits, or that would be another tool's. */
const WITH_DIGEST = /^(.+)_[0-9a-f]{8}$/

/** Whether a provider's name of a tool is the client's own, or that name within the provider's limits. */
function isNamed(sent: string, name: string): boolean {
  if (sent === name) return true
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_')
  // Some take only names that begin with a letter or an underscore.
  const clean = sent.startsWith('_') && /^[^a-zA-Z_]/.test(plain) ? `_${plain}` : plain
  const begins = WITH_DIGEST.exec(sent)?.[1]
  return sent === clean || (begins !== undefined && clean.startsWith(begins))
}

/** The smallest bound that the Responses API takes. */
const SMALLEST_BOUND = 16
/** The most stop sequences that OpenAI takes. */
const MOST_STOPS = 4
const EFFORTS = new Set(['minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

function isSetting(name: string, sent: unknown, value: unknown): boolean {
  switch (name) {
    case 'bound':
      return sent === value || ((value as number) < SMALLEST_BOUND && sent === SMALLEST_BOUND)
    case 'stop': {
      // Some take only the first ones.
      const wanted = value as readonly string[]
      return (
        isDeepStrictEqual(sent, wanted) ||
        (wanted.length > MOST_STOPS && isDeepStrictEqual(sent, wanted.slice(0, MOST_STOPS)))
      )
    }
    case 'temperature':
      // The default of every API.
      return sent === value || (sent === undefined && value === 1)
    case 'cacheKey':
    case 'user':
      // A digest, if the label is too long for the provider.
      return sent === value || (typeof sent === 'string' && String(value).length > 64 && sent.length <= 64)
    case 'choices':
      return sent === value || (sent === undefined && value === 1)
    case 'thinking':
      // A budget and an effort say the same in two APIs.
      if (value === 'off') return sent === 'off'
      return typeof sent === 'number' || EFFORTS.has(sent as string)
    case 'schema':
      // Claude demands that objects have no other properties.
      return typeof sent === 'string' && isDeepStrictEqual(opened(sent), opened(value as string))
    case 'toolChoice':
      if (hasName(value)) return hasName(sent) && isNamed(sent.tool, value.tool)
      return isDeepStrictEqual(sent, value) || (sent === undefined && value === 'auto')
    case 'parallel':
      // A provider does so anyway.
      return sent === value || (sent === undefined && value === true)
    default:
      return isDeepStrictEqual(sent, value)
  }
}

const hasName = (choice: unknown): choice is { readonly tool: string } =>
  typeof choice === 'object' && choice !== null && 'tool' in choice && typeof choice.tool === 'string'

/** A schema without `additionalProperties: false`. */
const opened = (schema: string): unknown =>
  JSON.parse(schema, (name, value) =>
    name === 'additionalProperties' && value === false ? undefined : value,
  )

const SHOWN_TEXT = 60
const cut = (text: string) => (text.length > SHOWN_TEXT ? `${text.slice(0, SHOWN_TEXT)}…` : text)
const shown = ({ as, of, text }: Carried) =>
  `the ${as} '${cut(text)}'${as === 'result' ? ` of ${cut(of ?? '')}` : ''}`
