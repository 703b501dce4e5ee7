import { afterEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { anthropic, memoryProviders, openaiCompatible } from '../../src/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { createRandom } from '../simulation/random.js'
import { BASE_COST, framesOf, PRICES, WireService } from './service.js'
import {
  claudeProvider,
  geminiModel,
  type Json,
  openAiProvider,
  refusalOfClaude,
  refusalOfGemini,
  refusalOfOpenAi,
  type Said,
  strictness,
} from './strict-providers.js'

const TURNS = 10
const COST = BigInt(BASE_COST.slice(2).padEnd(9, '0'))
const NAMES = ['deepseek', 'groq', 'mistral', 'claude', 'gemini'] as const
type Name = (typeof NAMES)[number]

let service: WireService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

/** Providers that refuse what the real ones refuse, each behind the adapter for it. All say what `next` returns. */
async function start(next: () => Said): Promise<WireService> {
  let count = 0
  const adapters = new Map<Name, ProviderAdapter>()
  const started = await WireService.start({
    providers: NAMES.length,
    models: NAMES.map((name) => ({ id: name, prices: PRICES })),
    adapter(baseUrl) {
      const name = NAMES[adapters.size]!
      const adapter =
        name === 'claude'
          ? anthropic({ baseUrl })
          : name === 'gemini'
            ? aiSdk({ model: () => geminiModel(next, () => 'call_0') })
            : openaiCompatible({ baseUrl })
      adapters.set(name, adapter)
      return adapter
    },
    router: () => ({
      providers: memoryProviders(
        NAMES.map((name) => ({
          id: name,
          models: { [name]: `upstream-${name}` },
          adapter: adapters.get(name)!,
        })),
      ),
    }),
  })
  const [deepseek, groq, mistral, claude] = started.upstreams
  // Ids as these providers make them. Those of Gemini repeat, as those of many servers do.
  deepseek!.script(
    openAiProvider(
      strictness.deepseek,
      next,
      'reasoning_content',
      () => `call_00_${'x'.repeat(16)}${count++}`,
    ),
  )
  groq!.script(openAiProvider(strictness.groq, next, 'reasoning', () => `functions.look:${count++}`))
  mistral!.script(
    openAiProvider(strictness.mistral, next, 'reasoning', () => `m${String(count++).padStart(8, '0')}`),
  )
  claude!.script(claudeProvider(next, () => `toolu_${count++}`))
  return started
}

/** What a model says in each turn: a call, then an answer. Some calls are broken, and some answers say nothing. */
function script(): () => Said {
  let asked = 0
  const calls = ['{"in":"Rome"}', '', '{"in": "Ro', '[1]', '{"id":9007199254740993}', '{}{"in":"Rome"}']
  return () => {
    const turn = Math.floor(asked / 2)
    const isCall = asked++ % 2 === 0
    if (isCall)
      return {
        thought: `Hm ${turn}.`,
        text: turn % 3 === 0 ? '' : 'I look.',
        call: calls[turn % calls.length]!,
      }
    return { thought: turn % 4 === 3 ? '' : `Well ${turn}.`, text: turn % 4 >= 2 ? '' : 'It rains.' }
  }
}

interface CallPiece {
  readonly index: number
  readonly function?: { readonly name?: string; readonly arguments?: string }
}
type Delta = Json & { readonly tool_calls?: readonly CallPiece[] }

/** A reply as a client keeps it that joins the text and lists of a stream, with the members that libraries add. */
function assemble(text: string, stream: boolean): Json {
  const added = { refusal: null, annotations: [], audio: null, function_call: null }
  if (!stream) return { ...JSON.parse(text).choices[0].message, ...added }
  const whole: Record<string, unknown> = { role: 'assistant', content: null, ...added }
  const calls: { function: { name?: string | undefined; arguments: string } }[] = []
  for (const { choices } of framesOf(text)) {
    for (const { delta } of choices as readonly { delta: Delta }[]) {
      for (const { index, function: part, ...rest } of delta.tool_calls ?? []) {
        calls[index] ??= { function: { arguments: '' } }
        const call = calls[index]
        Object.assign(call, rest)
        call.function.name ??= part?.name
        call.function.arguments += part?.arguments ?? ''
      }
      for (const name of ['content', 'reasoning', 'reasoning_content', 'reasoning_details']) {
        const more = delta[name]
        if (typeof more === 'string') whole[name] = `${whole[name] ?? ''}${more}`
        else if (Array.isArray(more)) whole[name] = [...((whole[name] as unknown[]) ?? []), ...more]
      }
    }
  }
  return { ...whole, ...(calls.length > 0 && { tool_calls: calls }) }
}

/** Talks for ten turns of a question, a call, its result and an answer. The n-th request goes to `nameAt(n)`. */
async function converse(
  nameAt: (request: number) => Name,
  streamAt: (request: number) => boolean,
): Promise<void> {
  service = await start(script())
  const messages: Json[] = [{ role: 'developer', content: 'Be brief.' }]
  let request = 0
  const before = await service.posted('alice')
  const ask = async (): Promise<Json> => {
    const [name, stream] = [nameAt(request), streamAt(request)]
    request++
    const thinks = name === 'claude' && { reasoning: { max_tokens: 1_024 } }
    const reply = await service!.post({ model: name, messages, stream, max_tokens: 4_000, ...thinks })
    const text = await reply.text()
    expect({ request, name, status: reply.status, text }).toMatchObject({ status: 200 })
    expect(text).not.toContain('"error"')
    return assemble(text, stream)
  }
  for (let turn = 0; turn < TURNS; turn++) {
    messages.push({ role: 'user', content: `Question ${turn}` })
    const called = await ask()
    messages.push(called)
    const calls = called.tool_calls as readonly { id: string }[]
    expect(calls).toHaveLength(1)
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'x' })
    messages.push(await ask())
  }
  for (let ended = 0; ended < request; ended++) await service.event('request-end')
  expect(before - (await service.posted('alice'))).toBe(COST * BigInt(request))
  await service.close()
  service = undefined
}

const orders = (['deepseek', 'groq', 'mistral'] as const).flatMap(
  (compatible) =>
    [
      [compatible, 'claude', 'gemini'],
      [compatible, 'gemini', 'claude'],
      ['claude', compatible, 'gemini'],
      ['claude', 'gemini', compatible],
      ['gemini', compatible, 'claude'],
      ['gemini', 'claude', compatible],
    ] as const,
)

describe('a conversation of ten turns never gets stuck', () => {
  it.each(orders.map((order) => ({ order, name: order.join(' -> ') })))(
    'if it moves with each request: $name',
    async ({ order }) => {
      await converse(
        (request) => order[request % 3]!,
        (request) => request % 2 === 0,
      )
      await converse(
        (request) => order[request % 3]!,
        (request) => request % 2 === 1,
      )
    },
  )

  it.each(orders.map((order) => ({ order, name: order.join(' -> ') })))(
    'if it moves with each turn: $name',
    async ({ order }) => {
      await converse(
        (request) => order[(request >> 1) % 3]!,
        (request) => request % 4 < 2,
      )
    },
  )

  it.each(NAMES)('if it stays with %s', async (name) => {
    for (const stream of [false, true])
      await converse(
        () => name,
        () => stream,
      )
  })

  it.each(Array.from({ length: 10 }, (_, run) => run))(
    'if it moves at random, with seed %i',
    async (seed) => {
      const random = createRandom(`conversations ${seed}`)
      await converse(
        () => random.pick(NAMES),
        () => random.chance(0.5),
      )
    },
  )
})

describe('the scripted providers of conversations refuse', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const said = { role: 'assistant', content: null, tool_calls: [call] }
  const result = { role: 'tool', tool_call_id: 'call_1', content: 'x' }
  const use = (id: string) => ({ role: 'assistant', content: [{ type: 'tool_use', id, input: {} }] })
  const user = (...content: readonly Json[]) => ({ role: 'user', content })
  const answer = (tool_use_id: string) => user({ type: 'tool_result', tool_use_id })
  const hi = user({ type: 'text', text: 'Hi' })

  it.each<[string, Json[], keyof typeof strictness]>([
    ['reasoning', [{ role: 'assistant', content: 'x', reasoning: 'y' }], 'groq'],
    ['missing reasoning', [said, result], 'deepseek'],
    ['long ids', [said, result], 'mistral'],
    ['a call without a result', [said, { role: 'user', content: 'x' }], 'groq'],
    ['an empty reply', [{ role: 'assistant', content: '' }], 'groq'],
    ['null members', [{ role: 'assistant', content: 'x', refusal: null }], 'groq'],
    ['the role developer', [{ role: 'developer', content: 'x' }], 'groq'],
    ['broken arguments', [{ ...said, tool_calls: [{ ...call, function: { arguments: '{' } }] }], 'groq'],
  ])('%s, like OpenAI', (_name, messages, name) => {
    expect(refusalOfOpenAi(messages, strictness[name])).toEqual(expect.any(String))
    expect(refusalOfOpenAi([said, result], strictness.groq)).toBeUndefined()
  })

  it.each<[string, Json]>([
    ['two turns of one role', { messages: [hi, hi] }],
    ['an id twice', { messages: [hi, use('a'), answer('a'), use('a'), answer('a')] }],
    ['a call without a result', { messages: [hi, use('a'), hi] }],
    [
      'an unsigned thought',
      { messages: [hi, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }] }] },
    ],
    ['a call without a thought', { messages: [hi, use('a'), answer('a')], thinking: {} }],
  ])('%s, like Claude', (_name, request) => {
    expect(refusalOfClaude(request)).toEqual(expect.any(String))
    expect(refusalOfClaude({ messages: [hi, use('a'), answer('a')] })).toBeUndefined()
  })

  it.each<[string, Json[]]>([
    ['a late system message', [hi, { role: 'system', content: 'x' }]],
    ['an empty message', [hi, { role: 'assistant', content: [] }]],
    ['an unsigned call', [hi, { role: 'assistant', content: [{ type: 'tool-call', toolName: 'look' }] }]],
  ])('%s, like Gemini', (_name, prompt) => {
    expect(refusalOfGemini(prompt)).toEqual(expect.any(String))
    expect(refusalOfGemini([hi])).toBeUndefined()
  })
})
