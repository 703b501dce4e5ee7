import type { Random } from '../../simulation/random.js'
import {
  type Api,
  type Call,
  HELLO,
  type Part,
  type Piece,
  type Result,
  type Said,
  type Settings,
  type Shape,
  type Thought,
  type Tool,
  type Turn,
} from '../shape.js'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const BOUND = 20_000

interface Draft extends Shape {
  turns: Turn[]
  tools?: Tool[]
  settings?: Settings
  says?: Said
}

/** A conversation that is being changed. */
class Change {
  private readonly words: Iterator<string>

  constructor(
    readonly draft: Draft,
    readonly api: Api,
    readonly random: Random,
  ) {
    this.words = wordsFrom(random)
  }

  /** A text that no other part has. */
  text(): string {
    return this.words.next().value as string
  }

  /** Puts turns between two others, or at either end. */
  insert(...turns: readonly Turn[]): void {
    const { turns: all } = this.draft
    const place = this.random.int(0, all.length)
    // In the older form, which has no ids, a result stands behind its call.
    const isLegacy = all[place] !== undefined && isLegacyResult(all[place])
    all.splice(isLegacy ? place + 1 : place, 0, ...turns)
  }

  /** An image that no other part has. */
  image(): Part {
    const data = Buffer.concat([PNG, Buffer.from(this.text())]).toString('base64')
    return { image: `data:image/png;base64,${data}` }
  }

  /** A document that no other part has. */
  pdf(): Part {
    const data = Buffer.from(`%PDF-1.4 ${this.text()}`).toString('base64')
    return { pdf: data, name: this.random.pick(['a.pdf', 'über 1.pdf']) }
  }

  functions(): readonly Tool[] {
    return (this.draft.tools ?? []).filter(({ custom, legacy, namespace }) =>
      [custom, legacy, namespace].every((one) => one === undefined),
    )
  }
}

/** Texts of 20 characters, in letters of several planes, none of which is within another. */
function* wordsFrom(random: Random): Iterator<string> {
  for (let count = 0; ; count++) {
    const mark = `${count}`.padStart(3, '0')
    const kind = random.pick([
      'a plain sentence',
      'zwölf Öfen 😀 hot',
      '<b>&amp;</b> "x" \\n',
      'line\u2028two\nthree\t',
      'half \ud83d of a pair',
    ])
    yield `[${mark}] ${kind} ${Math.floor(random.next() * 1e9).toString(36)} [${mark}]`
  }
}

const LONG = 'x'.repeat(81)

function callId(change: Change, count: number): string {
  const mark = change.text().slice(1, 4) + count
  return change.random.pick([
    `call_${mark}`,
    `toolu_01${mark}AbCdEfGhIjKlMnOpQr`,
    `functions.get_weather:${mark}`,
    `${LONG}${mark}`,
    `${mark}abcdefghi`.slice(0, 9),
    `chatcmpl-tool-${'0123456789abcdef'.repeat(2)}${mark}`,
    `é ü/${mark}|fc_1`,
    mark,
  ])
}

/** Calls of one turn, and what becomes of their results. */
function addCalls(change: Change): void {
  const { random } = change
  if (hasLegacy(change)) {
    addQuestion(change)
    return
  }
  if (change.functions().length === 0) addTool(change)
  const isOneId = random.chance(0.1)
  const calls = Array.from({ length: random.int(1, 4) }, (_, index): Call => {
    const tool = random.pick(change.functions())
    const id = isOneId ? 'call_again' : callId(change, index)
    return {
      call: tool.name,
      id,
      input: JSON.stringify({ n: index, text: change.text(), ...inputOf(random) }),
    }
  })
  const texts = random.chance(0.4) ? [change.text()] : []
  const results = calls.map((call): Result => resultOf(change, call.id))
  const said: Turn = { assistant: [...(random.chance(0.2) ? [thoughtOf(change)] : []), ...texts, ...calls] }
  const user = (): Turn => ({ user: change.text() })
  const all: Turn = { results }
  const apart = results.map((one): Turn => ({ results: [one] }))
  const way = random.weighted<() => readonly Turn[]>([
    [4, () => [said, all]],
    [2, () => [said, ...apart]],
    [2, () => [said, user(), all]],
    [1, () => [said, { system: change.text() }, all]],
    [1, () => [said, ...apart.flatMap((one) => [one, user()])]],
    // Results of one id belong to its calls in their order.
    [1, () => [said, isOneId ? all : { results: [...results].reverse() }]],
    [1, () => [said, isOneId ? all : { results: results.slice(1) }, user()]],
    [1, () => [said, user()]],
    [1, () => [said, all, { results: results.slice(0, 1) }]],
  ])
  change.insert(...way())
}

const inputOf = (random: Random): object =>
  random.pick([
    {},
    { city: 'Oslo' },
    { deep: { list: [1, [2], {}] } },
    { deeper: JSON.parse(`${'[{"a":'.repeat(40)}1${'}]'.repeat(40)}`) },
    { none: null, yes: true, 'a"b': '\u0000' },
  ])

function resultOf(change: Change, of: string): Result {
  const { random } = change
  const says = random.weighted<() => Result['says']>([
    [5, () => change.text()],
    [1, () => ''],
    [1, () => []],
    [1, () => [change.text(), change.text()]],
    [1, () => [change.image()]],
    [1, () => [change.text(), change.image()]],
  ])
  return { of, says: says(), ...(random.chance(0.1) && { failed: true }) }
}

/** How OpenAI's encrypted reasoning begins. */
const OF_OPENAI = 'gAAAAAB'

function thoughtOf(change: Change): Piece {
  const thought = change.text()
  return change.random.chance(0.5) ? { thought } : { thought, sealed: `${OF_OPENAI}somebodyelse` }
}

function addQuestion(change: Change): void {
  const { random } = change
  const part = (): Part =>
    random.weighted<() => Part>([
      [4, () => change.text()],
      [2, () => change.image()],
      [1, () => change.pdf()],
      [1, () => random.pick(['', ' ', '\n'])],
    ])()
  const user = random.chance(0.5)
    ? change.text()
    : [change.text(), ...Array.from({ length: random.int(0, 3) }, part)]
  change.insert({ user })
}

function addAnswer(change: Change): void {
  const { random } = change
  const pieces = random.weighted<() => readonly Piece[]>([
    [4, () => [change.text()]],
    [1, () => [change.text(), change.text()]],
    [2, () => [thoughtOf(change), change.text()]],
    [1, () => [{ refusal: change.text() }]],
    [1, () => ['']],
    [1, () => [' ', change.text()]],
  ])
  change.insert({ assistant: pieces() })
}

function addInstructions(change: Change): void {
  change.insert({ system: change.text(), ...(change.random.chance(0.4) && { developer: true }) })
}

function addOrphan(change: Change): void {
  change.insert({ results: [{ of: `gone_${change.text().slice(1, 4)}`, says: change.text() }] })
}

const SCHEMAS = [
  undefined,
  '{"type":"object"}',
  '{"type":"object","properties":{}}',
  '{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"number"}},"required":["text"]}',
  '{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}',
  '{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"a":{"enum":["x","y"]}}}}},"additionalProperties":false}',
] as const

const hasLegacy = ({ draft }: Change) => (draft.tools ?? []).some(({ legacy }) => legacy)

function addTool(change: Change): void {
  const { draft, random } = change
  // A client of the older form knows no other.
  if (hasLegacy(change)) return
  const mark = change.text().slice(1, 4)
  const name = random.pick([
    `look_${mark}`,
    `look.up/${mark}`,
    `${mark}-first`,
    `mcp__server__${'long_name_'.repeat(7)}${mark}`,
    `über ${mark}`,
  ])
  const schema = random.pick(SCHEMAS)
  const description = random.chance(0.7) ? change.text() : undefined
  const tool: Tool = {
    name,
    ...(schema !== undefined && { schema }),
    ...(description !== undefined && { description }),
  }
  draft.tools = [...(draft.tools ?? []), tool]
}

/** Settings that a client of each API may send, with their values. */
const SETTINGS: {
  readonly [Name in keyof Settings]?: {
    readonly apis?: readonly Api[]
    readonly values: readonly NonNullable<Settings[Name]>[]
  }
} = {
  bound: { values: [1, 16, 500, BOUND] },
  temperature: { values: [0, 0.5, 1] },
  topP: { values: [0.5] },
  stop: { apis: ['chat', 'messages'], values: [['END'], ['A1', 'B2', 'C3', 'D4', 'E5']] },
  seed: { apis: ['chat'], values: ['42', '9223372036854775807'] },
  choices: { apis: ['chat'], values: [1] },
  logprobs: { apis: ['chat', 'responses'], values: [2] },
  thinking: { values: ['off', 'low', 'medium', 'high'] },
  jsonObject: { apis: ['chat', 'responses'], values: [true] },
  toolChoice: { values: ['auto', 'none', 'any'] },
  parallel: { values: [true, false] },
  user: { values: ['user-1', 'u'.repeat(186)] },
  metadata: { apis: ['chat', 'responses'], values: [{ purpose: 'a test' }] },
  cacheKey: { apis: ['chat', 'responses'], values: ['session-1', 'k'.repeat(100)] },
  verbosity: { apis: ['chat', 'responses'], values: ['low', 'high'] },
}

function addSetting(change: Change): void {
  const { api, draft, random } = change
  const names = Object.entries(SETTINGS).filter(([, { apis = [api] }]) => apis.includes(api))
  const [name, { values }] = random.pick(names)
  const hasTools = (draft.tools ?? []).length > 0
  if (!hasTools && (name === 'toolChoice' || name === 'parallel')) return
  const { bound, jsonObject, schema, thinking } = draft.settings ?? {}
  if ((thinking !== undefined && name === 'bound') || (bound !== undefined && name === 'thinking')) return
  if (name === 'jsonObject' && (schema !== undefined || jsonObject)) return
  const settings = { ...draft.settings, [name]: random.pick<unknown>(values) }
  if (api !== 'messages' || isTakenByClaude(settings)) draft.settings = settings
}

/** Whether a client of Claude may send these settings together. */
function isTakenByClaude({ temperature, thinking = 'off', toolChoice = 'auto', topP }: Settings): boolean {
  const isForced = toolChoice === 'any' || typeof toolChoice === 'object'
  if (thinking !== 'off' && (isForced || temperature !== undefined || topP !== undefined)) return false
  return temperature === undefined || topP === undefined
}

function changeReply(change: Change): void {
  const { draft, random } = change
  const called = () =>
    change.functions().length === 0
      ? []
      : Array.from({ length: random.int(1, 3) }, (_, index) => ({
          id: callId(change, index),
          name: random.pick(change.functions()).name,
          input: JSON.stringify({ n: index, text: change.text() }),
        }))
  const says = random.weighted<() => Said>([
    [2, () => ({ text: change.text() })],
    [2, () => ({ thought: change.text(), text: change.text() })],
    [3, () => withCalls({ text: change.text() }, called())],
    [2, () => withCalls({ thought: change.text(), text: change.text() }, called())],
    [1, () => ({ text: change.text(), ends: 'length' })],
  ])
  draft.says = says()
}

const withCalls = (said: Said, calls: NonNullable<Said['calls']>): Said =>
  calls.length === 0 ? said : { ...said, calls }

function goOn(change: Change): void {
  const { draft, random } = change
  const { next: _, ...rest } = draft
  Object.assign(draft, rest, {
    next: { ...(random.chance(0.5) && { user: change.text() }), elsewhere: random.chance(0.5) },
  })
}

function removeTurn({ draft, random }: Change): void {
  const { turns } = draft
  const at = random.int(0, turns.length - 1)
  const left = turns.filter((_, index) => index !== at)
  if (left.some((turn) => 'user' in turn)) draft.turns = left
}

const MUTATIONS: readonly (readonly [weight: number, (change: Change) => void])[] = [
  [6, addCalls],
  [4, addQuestion],
  [3, addAnswer],
  [2, addInstructions],
  [1, addOrphan],
  [2, addTool],
  [4, addSetting],
  [3, changeReply],
  [2, goOn],
  [1, removeTurn],
]

/** Returns a conversation after so many changes, as a client of this API may send it. */
export function mutated(shape: Shape, api: Api, count: number, random: Random): Shape {
  const draft: Draft = {
    ...shape,
    turns: [...shape.turns],
    ...(shape.tools !== undefined && { tools: [...shape.tools] }),
  } as Draft
  const change = new Change(draft, api, random)
  for (let index = 0; index < count; index++) random.weighted(MUTATIONS)(change)
  return settled(withTellableThoughts(draft, api), api)
}

/**
 * OpenAI refuses reasoning of another account in words that do not say which it means: the router then leaves out all, and
 * so what the conversation's own provider must get back.
 */
function withTellableThoughts(shape: Shape, api: Api): Shape {
  if (api === 'messages' || shape.says?.sealed !== true || shape.next === undefined) return shape
  const plain = (piece: Piece): Piece =>
    isThought(piece) && piece.sealed?.startsWith(OF_OPENAI) ? { thought: piece.thought } : piece
  return {
    ...shape,
    turns: shape.turns.map((turn) =>
      isReply(turn) ? { ...turn, assistant: turn.assistant.map(plain) } : turn,
    ),
  }
}

/** What clients of an API can say: neighbouring replies are one, except in chats, and no conversation ends with a call. */
export function settled(shape: Shape, api: Api): Shape {
  const turns: Turn[] = []
  for (const turn of shape.turns.filter((one) => !('results' in one && one.results.length === 0))) {
    const last = turns.at(-1)
    if (api !== 'chat' && isReply(turn) && last !== undefined && isReply(last))
      turns[turns.length - 1] = { assistant: inOrder([...last.assistant, ...turn.assistant]) }
    else turns.push(turn)
  }
  const last = turns.at(-1)
  const isOpen = last !== undefined && isReply(last) && last.assistant.some(isCall)
  if (last === undefined || isOpen || (shape.next !== undefined && isReply(last)))
    turns.push({ user: 'Now go on' })
  const { next, says = HELLO, settings } = shape
  // OpenAI demands this word of its clients.
  if (settings?.jsonObject && !turns.some((turn) => 'user' in turn && String(turn.user).includes('JSON')))
    turns.push({ user: 'Answer in JSON' })
  // Anthropic demands of its clients that no reply to be continued ends with white space.
  const end = turns.at(-1)
  const endText = end !== undefined && isReply(end) ? end.assistant.at(-1) : undefined
  if (api === 'messages' && typeof endText === 'string' && endText !== endText.trimEnd())
    turns.push({ user: 'Now go on' })
  // Nobody sends a reply back without a question.
  if (next === undefined || next.user !== undefined || says.calls !== undefined) return { ...shape, turns }
  return { ...shape, turns, next: { ...next, user: 'And then?' } }
}

const isLegacyResult = (turn: Turn) =>
  'results' in turn && turn.results.some(({ legacy }) => legacy !== undefined)
const isReply = (turn: Turn): turn is { readonly assistant: readonly Piece[] } =>
  'assistant' in turn && !('native' in turn)
const isCall = (piece: Piece): piece is Call => typeof piece === 'object' && 'call' in piece
const isThought = (piece: Piece): piece is Thought => typeof piece === 'object' && 'thought' in piece

const inOrder = (pieces: readonly Piece[]): readonly Piece[] => [
  ...pieces.filter(isThought),
  ...pieces.filter((piece) => !isThought(piece) && !isCall(piece)),
  ...pieces.filter(isCall),
]
