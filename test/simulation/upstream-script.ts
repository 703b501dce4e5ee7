import type { ProviderErrorReason } from '../../src/base/errors.js'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import type { UsageReport } from '../../src/protocol/usage.js'
import { jsonBytes, wire } from '../../src/protocol/wire-bytes.js'
import type { Random } from './random.js'

/** A provider's output by meaning. The oracle reads this, and the router only the events made from it. */
export type Said =
  | { readonly say: 'text' | 'reasoning' | 'refusal'; readonly choice: number; readonly text: string }
  | { readonly say: 'tool'; readonly choice: number; readonly name: string; readonly text: string }
  | { readonly say: 'role' | 'empty'; readonly choice: number }
  | { readonly say: 'finish'; readonly choice: number; readonly reason: string }
  | { readonly say: 'usage'; readonly report: UsageReport }
  | { readonly say: 'error' }
  | { readonly say: 'garbage'; readonly how: Garbage }
  | { readonly say: 'whole'; readonly choices: readonly WholeChoice[] }

export type Garbage = 'json' | 'choices' | 'index' | 'content' | 'delta' | 'arguments'

/** The part of each that is text, or a number, and counts as output. */
export const LOST_TEXT: Partial<Record<string, string>> = {
  index: 'out of range',
  content: '7',
  delta: 'no object at all',
  arguments: 'look_up12345678',
}

export interface WholeChoice {
  readonly text: string
  readonly reason: string | undefined
}

/** One read from the network. */
export interface Beat {
  readonly afterMs: number
  readonly said: readonly Said[]
}

export type ScriptEnd =
  | { readonly how: 'terminated' | 'closed' | 'hang' | 'throw' | 'throw-at-once' }
  | { readonly how: 'fail'; readonly reason: ProviderErrorReason; readonly status: number | undefined }

export interface Script {
  readonly beats: readonly Beat[]
  readonly endAfterMs: number
  readonly end: ScriptEnd
  /** The adapter's behaviour after its signal aborts, and the delay in promise turns. */
  readonly onAbort: 'reject' | 'resolve' | 'ignore'
  readonly turns: number
}

interface ScriptOptions {
  readonly stream: boolean
  readonly n: number
  readonly faults: number
}

const PIECES = ['a', 'word ', 'größer ', '🙂', '"quoted"\n', 'some more words to read ', 'x'.repeat(90)]
const REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'end_turn', 'SAFETY', 'some new word']
const UNREADABLE = ['index', 'content', 'delta', 'arguments'] as const
const NONSENSE: readonly unknown[] = [-1, 1.5, '7', 1e30, Number.NaN, null, {}, 2_000_000_000]
const FAILURES: readonly (readonly [ProviderErrorReason, number | undefined])[] = [
  ['unreachable', undefined],
  ['timeout', undefined],
  ['answer-timeout', undefined],
  ['invalid-response', undefined],
  ['cut-short', undefined],
  ['error-frame', 500],
  ['unsupported-request', undefined],
  ...[400, 401, 402, 404, 408, 429, 500, 503, 529].map((status) => ['status', status] as const),
]

export function writeScript(random: Random, { stream, n, faults }: ScriptOptions): Script {
  const isWhole = random.chance(stream ? 0.12 : 0.8)
  const said = isWhole ? wholeReply(random, n, faults) : streamedReply(random, n, faults)
  const isCut = random.chance(faults)
  const keptWords = random.chance(0.4) ? 0 : random.int(0, said.length)
  const kept = isCut ? said.slice(0, keptWords) : said
  if (isCut && random.chance(0.5)) kept.push(fault(random, n))
  const pace = random.weighted([
    [6, 3],
    [3, 30],
    [1, 140],
  ])
  return {
    beats: inBeats(random, kept, pace, faults),
    endAfterMs: random.chance(0.5) ? 0 : random.int(0, pace),
    end: isCut ? failedEnd(random) : { how: random.chance(0.93) ? 'terminated' : 'closed' },
    onAbort: random.pick(['reject', 'resolve', 'ignore']),
    turns: random.int(0, 4),
  }
}

function streamedReply(random: Random, n: number, faults: number): Said[] {
  const said: Said[] = []
  if (random.chance(0.3)) said.push(usage(random, faults, true))
  const choices = random.chance(0.9) ? n : random.int(1, n)
  const turnsLeft = Array.from({ length: choices }, () =>
    random.chance(0.05) ? 0 : random.int(0, random.pick([3, 12])),
  )
  for (let choice = 0; choice < choices; choice++) {
    if (random.chance(0.6)) said.push({ say: 'role', choice })
  }
  while (turnsLeft.some((left) => left > 0)) {
    const choice = random.int(0, choices - 1)
    if (turnsLeft[choice]! <= 0) continue
    turnsLeft[choice]!--
    said.push(piece(random, choice))
    if (random.chance(0.04)) said.push(usage(random, faults, true))
    if (random.chance(faults * 0.02)) said.push({ say: 'garbage', how: random.pick(UNREADABLE) })
  }
  const finishes = !random.chance(0.06)
  for (let choice = 0; finishes && choice < choices; choice++) {
    said.push({ say: 'finish', choice, reason: random.pick(REASONS) })
  }
  if (random.chance(0.75)) said.push(usage(random, faults, false))
  if (random.chance(0.1)) said.push(usage(random, faults, false))
  return said
}

function wholeReply(random: Random, n: number, faults: number): Said[] {
  const choices = Array.from({ length: n }, () => ({
    text: random.chance(0.1) ? '' : random.pick(PIECES),
    reason: random.chance(0.9) ? random.pick(REASONS) : undefined,
  }))
  const reply: Said = { say: 'whole', choices }
  return random.chance(0.8) ? [reply, usage(random, faults, false)] : [reply]
}

function piece(random: Random, choice: number): Said {
  const text = random.pick(PIECES)
  return random.weighted<Said>([
    [10, { say: 'text', choice, text }],
    [2, { say: 'reasoning', choice, text }],
    [0.5, { say: 'refusal', choice, text }],
    [0.5, { say: 'tool', choice, name: 'look_up', text: '{"a":1,' }],
    [1, { say: 'empty', choice }],
  ])
}

function usage(random: Random, faults: number, interim: boolean): Said {
  const prompt = random.pick([0, 1, 7, random.int(0, 60), 200])
  const completion = interim ? random.int(0, 3) : random.pick([0, 1, random.int(0, 40), 45, 500])
  const report: Record<string, unknown> = { prompt, completion }
  if (random.chance(0.3)) report.cached = random.int(0, 12)
  if (random.chance(0.2)) report.cacheWrite = random.int(0, 12)
  if (random.chance(0.3)) report.reasoning = random.int(0, 12)
  for (const field of ['prompt', 'completion', 'reasoning', 'cached']) {
    if (random.chance(faults * 0.15)) report[field] = random.pick(NONSENSE)
    else if (random.chance(0.02)) delete report[field]
  }
  return { say: 'usage', report }
}

function fault(random: Random, n: number): Said {
  return random.weighted<Said>([
    [4, { say: 'error' }],
    [2, { say: 'finish', choice: 0, reason: 'error' }],
    [2, { say: 'garbage', how: random.pick(['json', 'choices', 'index', 'content', 'delta', 'arguments']) }],
    [1, usage(random, 1, false)],
    [1, { say: 'text', choice: n - 1, text: 'late' }],
  ])
}

function failedEnd(random: Random): ScriptEnd {
  const [reason, status] = random.pick(FAILURES)
  return random.weighted<ScriptEnd>([
    [6, { how: 'fail', reason, status }],
    [2, { how: 'closed' }],
    [2, { how: 'hang' }],
    [1, { how: 'terminated' }],
    [1, { how: 'throw' }],
    [0.3, { how: 'throw-at-once' }],
  ])
}

function inBeats(random: Random, said: readonly Said[], pace: number, faults: number): Beat[] {
  const beats: Beat[] = []
  for (let next = 0; next < said.length; ) {
    const size = random.weighted([
      [5, 1],
      [2, random.int(1, 4)],
      [1, said.length],
    ])
    if (random.chance(0.05)) beats.push({ afterMs: random.int(0, pace), said: [] })
    const stalls = random.chance(faults * 0.04)
    const afterMs = random.chance(0.4) ? 0 : random.int(0, stalls ? 300 : pace)
    beats.push({ afterMs, said: said.slice(next, next + size) })
    next += size
  }
  return beats
}

/** The event of an adapter for this. It includes a cost that the provider reports, which must be ignored. */
export function asEvent(said: Said, parsed: boolean): ProviderEvent {
  switch (said.say) {
    case 'usage':
      return { type: 'usage', usage: said.report }
    case 'whole':
      return {
        type: 'completion',
        completion: { id: 'up-1', choices: said.choices.map(wholeChoice), usage: { cost: 99 } },
      }
    case 'garbage':
      return said.how === 'json'
        ? { type: 'data', bytes: wire('{"choices":[') }
        : asData(garbage(said.how), parsed)
    case 'error':
      return asData({ error: { message: 'It broke', code: 500 } }, parsed)
    default:
      return asData(
        { id: 'up-1', model: 'secret-upstream', choices: [choiceOf(said)], cost: 99, usage: { cost: 99 } },
        parsed,
      )
  }
}

function asData(chunk: object, parsed: boolean): ProviderEvent {
  if (parsed) return { type: 'chunk', chunk: chunk as { choices?: readonly unknown[] } }
  return { type: 'data', bytes: jsonBytes(chunk) }
}

function choiceOf(said: Exclude<Said, { say: 'usage' | 'whole' | 'garbage' | 'error' }>): object {
  const choice = { index: said.choice, finish_reason: null }
  switch (said.say) {
    case 'text':
      return { ...choice, delta: { content: said.text } }
    case 'reasoning':
    case 'refusal':
      return { ...choice, delta: { [said.say]: said.text } }
    case 'tool': {
      const call = {
        index: 0,
        id: 'call_1',
        type: 'function',
        function: { name: said.name, arguments: said.text },
      }
      return { ...choice, delta: { tool_calls: [call] } }
    }
    case 'role':
      return { ...choice, delta: { role: 'assistant', content: '' } }
    case 'empty':
      return { ...choice, delta: { content: '' } }
    case 'finish':
      return { ...choice, delta: {}, finish_reason: said.reason }
  }
}

function wholeChoice({ text, reason }: WholeChoice, index: number): object {
  return { index, message: { role: 'assistant', content: text }, finish_reason: reason ?? null }
}

function garbage(how: Exclude<Garbage, 'json'>): object {
  switch (how) {
    case 'choices':
      return { choices: 7 }
    case 'index':
      return { choices: [{ index: 999, delta: { content: LOST_TEXT.index } }] }
    case 'content':
      return { choices: [{ index: 0, delta: { content: { odd: 7 } }, finish_reason: null }] }
    case 'delta':
      return { choices: [{ index: 0, delta: LOST_TEXT.delta, finish_reason: null }] }
    case 'arguments': {
      const call = { index: 9, function: { name: 'look_up', arguments: 12345678 } }
      return { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] }
    }
  }
}
