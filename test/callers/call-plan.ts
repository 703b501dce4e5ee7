import { createRandom, type Random } from '../simulation/random.js'
import { type Api, asCount, asMessages, asResponses } from './apis.js'
import type { HonestBody } from './honest-bodies.js'
import { mutate } from './hostility.js'
import type { Json, JsonObject } from './json.js'
import { makeMedia } from './media.js'
import { APP_USER, HONEST, type ModelPlan, OWN_KEY, POOR, RICH, type Scenario } from './scenario.js'
import { TEXTS } from './texts.js'

/** A provider's behaviour in a call. */
export interface ReplyPlan {
  readonly kind: ReplyKind
  /** Output tokens that the model would produce for each choice. It stops at the limit in the request. */
  readonly tokens: number
  /** How many of them are hidden thinking. */
  readonly thinking: number
  readonly usage: 'asked-for' | 'never'
  /** Exceeds the limit, by thinking that it does not count. */
  readonly overruns: boolean
  /** The caller's words that a refusal quotes. */
  readonly quote: string
  /** The silence before its first byte, on the router's clock. */
  readonly silentMs: number
}

export type ReplyKind =
  | 'text'
  | 'tools'
  | 'empty'
  // The model produces something unreadable.
  | 'many-calls'
  | 'nameless-call'
  | 'arguments-list'
  | 'arguments-number'
  | 'arguments-deep'
  | 'malformed-call'
  // The provider quotes the caller, in a refusal or in an error after some text.
  | 'refusal'
  | 'refusal-then-text'
  | 'error-frame'
  // The provider itself fails.
  | 'status-500'
  | 'status-429'
  | 'cut-short'

export const MISBEHAVIOURS: readonly ReplyKind[] = [
  'many-calls',
  'nameless-call',
  'arguments-list',
  'arguments-number',
  'arguments-deep',
  'malformed-call',
]
export const PROVIDER_FAILURES: readonly ReplyKind[] = [
  'status-500',
  'status-429',
  'cut-short',
  'error-frame',
]

export type Leaving = 'stays' | 'before-first' | 'mid' | 'with-last' | 'half-sent' | 'never-reads'

/**
 * One call: its caller, its request, and the provider's behaviour. Plain data, so that it can be printed and
 * shrunk.
 */
export interface CallPlan {
  readonly name: string
  readonly account: string
  readonly api: Api
  /** As text, since some bodies repeat a name. */
  readonly text: string
  readonly stream: boolean
  readonly model: string
  readonly leaving: Leaving
  readonly idempotencyKey?: string
  /** Pins the call to a provider with this key of the caller. */
  readonly ownKey?: { readonly provider: string; readonly key: string }
  /** A body that a real client sends. It is never refused. */
  readonly isHonest: boolean
  /** Only text that people send, and an effective limit, so the hold covers it. */
  readonly isPlain: boolean
  readonly reply: ReplyPlan
  /** The mutations of the body, for the reader of a report. */
  readonly done: readonly string[]
}

/** Its bytes grow once it is composed. */
const GROWING = '\u00e8\u0323'.repeat(3_000)

/** A call whose cost is nearly all prompt. */
function promptPlans({ models, neverOverdraw }: Scenario): readonly CallPlan[] {
  if (!neverOverdraw) return []
  return models.map((model): CallPlan => {
    const body = { model: model.id, max_tokens: 1, messages: [{ role: 'user', content: GROWING }] }
    return {
      name: `control ${model.id} of prompt alone`,
      account: HONEST,
      api: 'chat',
      text: JSON.stringify(body),
      stream: false,
      model: model.id,
      leaving: 'stays',
      isHonest: false,
      isPlain: false,
      reply: plainReply(1),
      done: [],
    }
  })
}

/** The calls that are made before, during and after the others. They must always give the same result. */
export function controlPlans(scenario: Scenario): readonly CallPlan[] {
  return [...promptPlans(scenario), ...apiPlans(scenario)]
}

function apiPlans(scenario: Scenario): readonly CallPlan[] {
  const kinds: readonly (readonly [api: Api, stream: boolean, account: string])[] = [
    ['chat', true, HONEST],
    ['chat', false, HONEST],
    ['responses', true, HONEST],
    ['messages', false, HONEST],
    ['chat', false, RICH],
  ]
  return scenario.models.flatMap((model) =>
    kinds.map(([api, stream, account]): CallPlan => {
      const body = {
        model: model.id,
        stream,
        ...(account !== RICH && { max_tokens: 40 }),
        temperature: 0.5,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'What is the weather in Oslo?' },
          {
            role: 'assistant',
            content: 'Rain.',
            ...(model.language === 'openai' &&
              api === 'chat' && {
                reasoning: 'They ask for the weather.',
                reasoning_details: [
                  { type: 'reasoning.text', text: 'They ask for the weather.', signature: 'c2lnbmVk' },
                ],
              }),
          },
          { role: 'user', content: 'And in Bergen?' },
        ],
      }
      return {
        name: `control ${model.id} ${api}${stream ? ' stream' : ''}${account === RICH ? ' without a limit' : ''}`,
        account,
        api,
        text: JSON.stringify(inApi(api, body)),
        stream,
        model: model.id,
        leaving: 'stays',
        isHonest: true,
        isPlain: account !== RICH,
        reply: plainReply(12),
        done: [],
      }
    }),
  )
}

function plainReply(tokens: number): ReplyPlan {
  return {
    kind: 'text',
    tokens,
    thinking: 0,
    usage: 'asked-for',
    overruns: false,
    quote: '',
    silentMs: 0,
  }
}

/** The request in the terms of an API. */
function inApi(api: Api, chat: JsonObject): JsonObject {
  switch (api) {
    case 'chat':
      return chat
    case 'responses':
      return asResponses(chat)
    case 'messages':
      return asMessages(chat)
    case 'count':
      return asCount(asMessages(chat))
    case 'embeddings':
      throw new TypeError('Embeddings are not made from chats.')
  }
}

/** A call of a caller that tries to pay less. One in six is honest, with a real client. */
export function makePlan(scenario: Scenario, index: number, honest: readonly HonestBody[]): CallPlan {
  const random = createRandom(`call ${scenario.seed} ${index}`)
  const isHonest = random.chance(0.15)
  const openai = scenario.models.filter(({ language }) => language === 'openai')
  const model = random.pick(isHonest ? openai : scenario.models)
  const made = isHonest ? honestRequest(random, model, honest) : makeRequest(random, model)
  const { api, stream } = made
  const mutated =
    isHonest || random.chance(0.35)
      ? { text: JSON.stringify(made.body), done: [] as readonly string[] }
      : mutate(random, made.body)
  const leaving = random.weighted<Leaving>([
    [isHonest ? 40 : 12, 'stays'],
    [1, 'before-first'],
    [1, 'mid'],
    [1.5, 'with-last'],
    [isHonest ? 0 : 0.3, 'half-sent'],
  ])
  const keyed = api !== 'count' && random.chance(0.12)
  const ownKey = isHonest || random.chance(0.94) ? undefined : makeOwnKey(random, model)
  return {
    name: `call ${index}`,
    account: isHonest
      ? random.pick(scenario.callers)
      : random.weighted([
          [16, random.pick(scenario.callers)],
          // Counting is free, so that whoever has nothing counts most.
          [api === 'count' ? 16 : 1, POOR],
          [2, APP_USER],
        ]),
    api,
    text: mutated.text,
    stream,
    model: model.id,
    leaving,
    ...(keyed && { idempotencyKey: random.chance(0.3) ? 'the-same-key' : `key-${index}` }),
    ...(ownKey !== undefined && { ownKey }),
    isHonest,
    isPlain: made.isPlain && mutated.done.length === 0,
    reply: makeReply(random, scenario, model, isHonest, api),
    done: [...made.done, ...mutated.done],
  }
}

interface MadeRequest extends MadeBody {
  readonly api: Api
  readonly stream: boolean
}

function makeRequest(random: Random, model: ModelPlan): MadeRequest {
  const api = random.weighted<Api>([
    [10, 'chat'],
    [4, 'responses'],
    [4, 'messages'],
    [1, 'count'],
    [model.language === 'openai' ? 1.5 : 0, 'embeddings'],
  ])
  if (api === 'embeddings') return { api, stream: false, ...makeEmbeddings(random, model) }
  const stream = api !== 'count' && random.chance(0.6)
  const { body, ...made } = makeBody(random, model, stream)
  return { api, stream, ...made, body: inApi(api, body) }
}

/** Texts to embed, or their tokens: few, or as many as an honest batch has. */
function makeEmbeddings(random: Random, model: ModelPlan): MadeBody {
  let isPlain = true
  const text = (): string => {
    const picked = random.pick(TEXTS)
    if (!picked.isSent) isPlain = false
    return picked.text
  }
  const tokens = (): number[] => Array.from({ length: random.int(1, 40) }, () => random.int(0, 99_999))
  const list = <Item>(make: () => Item): Item[] => Array.from({ length: random.pick([1, 3, 12]) }, make)
  const input: Json = random.weighted<() => Json>([
    [3, text],
    [4, () => list(text)],
    [1, tokens],
    [1, () => list(tokens)],
    [0.5, () => Array.from({ length: 400 }, (_, index) => `text ${index}`)],
  ])()
  const body = {
    model: model.id,
    input,
    ...(random.chance(0.3) && { encoding_format: random.pick(['float', 'base64']) }),
    ...(random.chance(0.2) && { dimensions: random.pick([8, 64]) }),
  }
  return { body, isPlain, done: [] }
}

function honestRequest(random: Random, model: ModelPlan, honest: readonly HonestBody[]): MadeRequest {
  const { api = 'chat', body } = random.pick(honest)
  return { api, stream: body.stream === true, body: { ...body, model: model.id }, isPlain: false, done: [] }
}

const SILENCES = [90_000, 130_000, 400_000]
/** More than the system's buffers between router and caller. */
const LONG_TOKENS = 3_000

/** A call that takes long, or whose caller never reads. These wait for the clock, and are made separately. */
export function makeSlowPlan(scenario: Scenario, index: number): CallPlan {
  const random = createRandom(`slow ${scenario.seed} ${index}`)
  const openai = scenario.models.filter(({ language }) => language === 'openai')
  const model = random.pick(openai)
  const stream = random.chance(0.4)
  const { body, isPlain } = makeBody(random, model, stream)
  const leaving = random.pick<Leaving>(['stays', 'stays', 'before-first', 'with-last', 'never-reads'])
  const isLong = leaving === 'never-reads' && stream
  return {
    name: `slow ${index}`,
    account: random.pick(scenario.callers),
    api: 'chat',
    text: JSON.stringify({ ...body, n: 1 }),
    stream,
    model: model.id,
    leaving,
    isHonest: false,
    isPlain,
    reply: {
      ...plainReply(isLong ? LONG_TOKENS : random.int(1, 200)),
      silentMs: isLong ? 0 : random.pick(SILENCES),
    },
    done: [],
  }
}

function makeOwnKey(random: Random, model: ModelPlan): CallPlan['ownKey'] {
  const { provider } = random.pick(model.routes)
  return { provider, key: random.pick(['sk-made-up-0123456789abcdef', 'x', OWN_KEY]) }
}

function makeReply(
  random: Random,
  scenario: Scenario,
  model: ModelPlan,
  isHonest: boolean,
  api: Api,
): ReplyPlan {
  const tokens = random.pick([0, 1, 5, 20, 60, 60, 300, 1_500, 20_000])
  const kind =
    isHonest || api === 'count' || random.chance(0.6)
      ? 'text'
      : random.weighted<ReplyKind>([
          [2, 'tools'],
          [1, 'empty'],
          ...(model.language === 'openai' && api !== 'embeddings'
            ? MISBEHAVIOURS.map((kind) => [1, kind] as const)
            : []),
          [2, 'refusal'],
          [model.language === 'openai' ? 2 : 0, 'refusal-then-text'],
          ...(scenario.isFlaky ? PROVIDER_FAILURES.map((kind) => [1, kind] as const) : []),
        ])
  return {
    kind,
    tokens: isHonest ? Math.max(1, tokens) : tokens,
    thinking: random.chance(0.3) ? random.pick([10, 200, 2_000, 30_000]) : 0,
    usage: random.chance(0.93) ? 'asked-for' : 'never',
    overruns: random.chance(0.05),
    quote: random.pick(QUOTES),
    silentMs: 0,
  }
}

/** Words of a caller that a provider repeats, from which a router might wrongly learn. */
const QUOTES = [
  'Could not fetch https://slow.example.org/stream_options?x=1 in time.',
  "Invalid image address 'https://a.example.org/messages[0].reasoning'.",
  "Unknown tool 'reasoning_content' is unsupported; got messages.1.reasoning_details",
  "'reasoning' is unsupported",
  'Unrecognized request argument supplied: stream_options',
  "Schema name 'max_tokens' is not supported; use max_completion_tokens instead.",
  "temperature 'temperature' does not support 0.5 with this model",
  'The server is overloaded. Please try again later. insufficient_quota invalid api key',
]

interface MadeBody {
  readonly body: JsonObject
  readonly isPlain: boolean
  readonly done: string[]
}

function makeBody(random: Random, model: ModelPlan, stream: boolean): MadeBody {
  const done: string[] = []
  let isPlain = true
  const text = (): string => {
    const picked = random.pick(TEXTS)
    if (!picked.isSent) isPlain = false
    return picked.text
  }
  const content = (): Json => {
    if (random.chance(0.6)) return text()
    const parts: Json[] = [{ type: 'text', text: text() }]
    if (random.chance(0.4)) {
      const medium = makeMedia(random)
      parts.push(medium as unknown as Json)
      done.push(`a medium: ${medium.type}`)
      isPlain = false
    }
    if (random.chance(0.15)) parts.push({ type: 'text', text: text(), cache_control: { type: 'ephemeral' } })
    return parts
  }
  const messages: Json[] = []
  if (random.chance(0.4)) messages.push({ role: random.pick(['system', 'developer']), content: text() })
  messages.push({ role: 'user', content: content() })
  if (random.chance(0.25)) {
    const name = 'get_weather'
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name, arguments: JSON.stringify({ a: text() }) },
    }
    messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    messages.push({ role: 'tool', tool_call_id: 'call_1', content: text() })
  }
  if (random.chance(0.3))
    messages.push({ role: 'assistant', content: text() }, { role: 'user', content: content() })
  const bound = random.weighted<JsonObject>([
    [2, {}],
    [3, { max_tokens: random.pick([1, 20, 200, 1_000]) }],
    [2, { max_completion_tokens: random.pick([1, 20, 200, 1_000]) }],
    [1, { max_tokens: 20, max_completion_tokens: 1_000 }],
    [1, { max_tokens: random.pick([5_000, 20_000, 100_000]) }],
  ])
  // Without a limit a call may cost more than its hold.
  if (Object.keys(bound).length === 0) isPlain = false
  const body: JsonObject = {
    model: model.id,
    stream,
    messages,
    ...bound,
    ...(random.chance(0.2) && { temperature: random.pick([0, 0.5, 1]) }),
    ...(random.chance(0.15) && { n: random.pick([1, 2, 3, 8]) }),
    ...(random.chance(0.25) && {
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: text(),
            parameters: { type: 'object', properties: { [text().slice(0, 40)]: { type: 'string' } } },
          },
        },
      ],
    }),
    ...(random.chance(0.1) && ownFields(random, model)),
    ...(model.language === 'openai' && random.chance(0.2) && thinking(random)),
    ...(model.language === 'openai' && random.chance(0.05) && { user: text().slice(0, 60) }),
  }
  return { body, isPlain, done }
}

/** Fields for the router, which no provider may see. */
function ownFields(random: Random, { routes }: ModelPlan): JsonObject {
  return random.pick<JsonObject>([
    { session_id: `session ${random.int(1, 3)}` },
    { routing: { order: routes.map(({ provider }) => provider).reverse() } },
    { routing: { sort: random.pick(['price', 'latency', 'throughput']), require_parameters: true } },
    { routing: { only: [routes[0]!.provider], allow_fallbacks: false } },
    { app_id: 'somebody else', action: { kind: 'x'.repeat(2_000) }, connected: [1, 2] },
  ])
}

function thinking(random: Random): JsonObject {
  const budget = random.pick([100, 1_024, 8_000, 32_000, 1_000_000])
  return random.pick<JsonObject>([
    { reasoning_effort: random.pick(['none', 'low', 'high', 'xhigh']) },
    { reasoning: { max_tokens: budget } },
    { reasoning: { effort: 'high', max_tokens: budget } },
    { thinking: { type: 'enabled', budget_tokens: budget } },
    { enable_thinking: true, thinking_budget: budget },
    { chat_template_kwargs: { enable_thinking: true, thinking_budget: budget } },
    { thinking_budget: budget, thinking: { type: 'enabled', budget_tokens: 2 * budget } },
  ])
}
