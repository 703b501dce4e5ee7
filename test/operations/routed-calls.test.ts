import { describe, expect, it } from 'vitest'
import { ProviderError } from '../../src/base/errors.js'
import type {
  Asked,
  Operation,
  Plan,
  RefusedCall,
  RoutedCall,
  UnsentCall,
} from '../../src/contracts/operation.js'
import type { AdapterRun, ProviderAdapter, ProviderCall, Route } from '../../src/contracts/providers.js'
import type { ConversationRequest } from '../../src/conversation/conversation.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import { chat } from '../../src/operations/chat/index.js'
import { embeddings } from '../../src/operations/embeddings/index.js'
import { messages } from '../../src/operations/messages/index.js'
import { createResponses } from '../../src/operations/responses/index.js'
import { DEFAULTS } from '../../src/options.js'
import { headersOf } from '../helpers/headers-of.js'
import { MODEL } from '../wire/service.js'

const READER = {
  principal: { kind: 'api-key', credentialId: 'c', account: 'alice' },
  userAgent: undefined,
} as const
const SAID = [{ role: 'user', content: 'Hi' }]
const METHODS = ['chat', 'converse', 'responses', 'messages', 'embeddings'] as const
type Method = (typeof METHODS)[number]
/** The members of requests that have what was said. */
const SPOKEN = ['messages', 'turns', 'input', 'items']

const OPERATIONS: readonly { operation: Operation; body: object }[] = [
  { operation: chat, body: { messages: SAID } },
  { operation: createResponses(), body: { input: 'Hi' } },
  { operation: messages, body: { messages: SAID, max_tokens: 5 } },
  { operation: embeddings, body: { input: 'Hi' } },
]

/** The method that each operation takes, best first, and the member that its request has there. */
const TAKEN: Readonly<Record<string, readonly (readonly [Method, string])[]>> = {
  chat: [
    ['chat', 'messages'],
    ['converse', 'turns'],
  ],
  responses: [
    ['responses', 'input'],
    ['converse', 'turns'],
    ['chat', 'messages'],
  ],
  messages: [
    ['messages', 'max_tokens'],
    ['converse', 'turns'],
    ['chat', 'messages'],
  ],
  embeddings: [['embeddings', 'input']],
}

/** The same conversation in each API, with words between the call and its result where the API has room for them. */
const IN_CHAT = [
  { role: 'user', content: 'Look' },
  {
    role: 'assistant',
    content: 'I do',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
  },
  { role: 'user', content: 'Wait' },
  { role: 'tool', tool_call_id: 'a', content: 'A tree' },
]
const IN_RESPONSES = [
  { role: 'user', content: 'Look' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I do' }] },
  { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":1}' },
  { role: 'user', content: [{ type: 'input_text', text: 'Wait' }] },
  { type: 'function_call_output', call_id: 'a', output: 'A tree' },
]
const IN_MESSAGES = [
  { role: 'user', content: 'Look' },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I do' },
      { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Wait' },
      { type: 'tool_result', tool_use_id: 'a', content: 'A tree' },
    ],
  },
]

function plan(operation: Operation, body: object, sizes = DEFAULTS.sizes): Plan {
  return planOf(operation, operation.read({ value: { model: MODEL, ...body } }, headersOf({})), sizes)
}

function planOf(operation: Operation, asked: Asked, sizes = DEFAULTS.sizes): Plan {
  const options = {
    counter: byteRatioCounter,
    upperCounter: byteRatioCounter,
    neverOverdraw: false,
    sizes,
    charging: DEFAULTS.charging,
    reasoningName: undefined,
  }
  return operation.plan(asked, { id: MODEL, created: 1, ownedBy: 'acme' }, options, READER)
}

function routeTo(adapter: ProviderAdapter): Route {
  return { id: 'acme-1', provider: 'acme', adapter, upstreamModel: 'upstream-model' }
}

function unsent(): UnsentCall {
  return {
    stream: false,
    auth: { kind: 'host' },
    timeouts: DEFAULTS.timeouts,
    sizes: DEFAULTS.sizes,
    signal: new AbortController().signal,
    requestId: 'r',
  }
}

function taken(answer: RoutedCall | RefusedCall | undefined): RoutedCall {
  if (answer === undefined || 'refused' in answer) expect.fail('The route does not take the call.')
  return answer
}

/** Every set of methods that an adapter may have. */
const SETS = Array.from({ length: 2 ** METHODS.length }, (_, bits) =>
  METHODS.filter((_method, position) => (bits >> position) % 2 === 1),
)

describe('a route', () => {
  it.each(OPERATIONS)(
    'takes $operation.name by the best method that its adapter has',
    async ({ body, operation }) => {
      for (const methods of SETS) {
        const calls: { method: Method; call: ProviderCall<never> }[] = []
        const adapter: Partial<Record<Method, AdapterRun<never>>> = {}
        for (const method of methods) {
          adapter[method] = async (call) => {
            calls.push({ method, call })
            return { terminated: true }
          }
        }
        const expected = TAKEN[operation.name]!.find(([method]) => methods.includes(method))
        const answer = plan(operation, body).on(routeTo(adapter as ProviderAdapter), false)
        if (expected === undefined) {
          expect(answer, methods.join()).toBeUndefined()
          continue
        }
        const call = unsent()
        expect(await taken(answer).run(call, 5, () => {})).toEqual({ terminated: true })
        expect(calls.map(({ method }) => method)).toEqual([expected[0]])
        expect(calls[0]!.call.request).toMatchObject({
          model: 'upstream-model',
          [expected[1]]: expect.anything(),
        })
        // Whoever releases the request has no other object to look for.
        expect(calls[0]!.call).toBe(call)
      }
    },
  )

  it.each(OPERATIONS)(
    'is asked about $operation.name without a look at what was said',
    ({ body, operation }) => {
      const read = operation.read({ value: { model: MODEL, ...body } }, headersOf({}))
      const planned = planOf(operation, read)
      for (const request of [read, ...Object.values(read)]) {
        for (const name of SPOKEN) {
          if (request?.[name] !== undefined)
            Object.defineProperty(request, name, { get: () => expect.fail('was read') })
        }
      }
      const adapter = Object.fromEntries(
        METHODS.map((method) => [method, async () => ({ terminated: true })]),
      )
      const routed = taken(planned.on(routeTo(adapter), false))
      expect(() => routed.run(unsent(), 5, () => {})).toThrow('was read')
    },
  )

  it('refuses embeddings that do not fit into one reply', () => {
    const input = Array.from({ length: 2_048 }, () => 'a')
    const sizes = { ...DEFAULTS.sizes, replyBytes: 1_000, memoryBytes: 1_000 }
    const planned = plan(embeddings, { input }, sizes)
    expect(planned.on(routeTo({ embeddings: expect.fail }), false)).toEqual({
      refused: 'cannot serve so large a request',
      error: expect.objectContaining({ code: 'invalid_request', param: 'input', status: 400 }),
    })
  })

  it('is sent a chat again in the same call, without the hint that it cannot take', async () => {
    const requests: object[] = []
    const routed = taken(
      plan(createResponses(), { input: 'Hi', reasoning: { effort: 'low' } }).on(
        routeTo({
          chat: async ({ request }) => {
            requests.push(request)
            if (request.reasoning_effort === undefined) return { terminated: true }
            throw new ProviderError('unsupported-request', 'No.', { param: 'reasoning_effort' })
          },
        }),
        false,
      ),
    )
    const call = unsent()
    await routed.run(call, 5, () => {})
    expect(requests).toHaveLength(2)
    expect(call.request).toBe(requests[1])
  })

  it.each([
    ['chat', chat, { messages: IN_CHAT }],
    ['responses', createResponses(), { input: IN_RESPONSES }],
    ['messages', messages, { messages: IN_MESSAGES, max_tokens: 5 }],
  ])('is sent one conversation from %s, with the result behind its call', async (_, operation, body) => {
    const requests: ConversationRequest[] = []
    const converse: AdapterRun<ConversationRequest> = async ({ request }) => {
      requests.push(request)
      return { terminated: true }
    }
    const routed = taken(plan(operation as Operation, body).on(routeTo({ converse }), false))
    await routed.run(unsent(), 5, () => {})
    const text = (words: string) => [{ type: 'text', text: words, cache: false }]
    expect(requests[0]!.turns).toEqual([
      { role: 'user', content: text('Look') },
      {
        role: 'assistant',
        content: text('I do'),
        toolCalls: [{ id: 'a', kind: 'function', name: 'look', input: '{"at":1}' }],
        thoughts: [],
      },
      { role: 'tool', toolCallId: 'a', content: text('A tree'), isError: false },
      { role: 'user', content: text('Wait') },
    ])
  })
})
