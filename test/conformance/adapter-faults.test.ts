import { describe, expect, it } from 'vitest'
import { ProviderError } from '../../src/base/errors.js'
import { createSecret } from '../../src/base/secret.js'
import type { ChatAdapter } from '../../src/contracts/index.js'
import type { ChatMessage } from '../../src/protocol/chat-request.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import { ADAPTER_HOST_CREDENTIAL, ADAPTER_HOST_KEY, adapterCases } from '../../src/testing/adapter/index.js'
import { openAiLanguage } from './adapter-languages.js'
import { openAdapter } from './adapter-upstream.js'

type Chat = ChatAdapter['chat']

type Adapter = ReturnType<typeof openaiCompatible>

type Fault = readonly [what: string, cases: readonly string[], spoil: (chat: Chat) => Chat]

function hasBrokenCall({ tool_calls: calls }: ChatMessage): boolean {
  return JSON.stringify(calls ?? '').includes('the s"')
}

/** Messages of a conversation, and the case about them. */
const refusedMessages: readonly (readonly [what: string, id: string, (message: ChatMessage) => boolean])[] = [
  ['members that are null', 'history-nulls', ({ refusal }) => refusal === null],
  ['a reply that says nothing', 'history-empty', ({ content }) => content === ''],
  ['reasoning', 'history-reasoning', ({ reasoning }) => reasoning !== undefined],
  ['broken arguments', 'history-broken-arguments', hasBrokenCall],
  ['the role developer', 'history-developer', ({ role }) => role === 'developer'],
  ['calls in the old form', 'history-function', ({ role }) => role === 'function'],
]

const refusing = ([what, id, isRefused]: (typeof refusedMessages)[number]): Fault => [
  `refuses ${what}`,
  [id],
  (chat) => async (call, take) => {
    if (!call.request.messages.some(isRefused)) return chat(call, take)
    throw new ProviderError('unsupported-request', `It has ${what}.`)
  },
]

/** Faults of an adapter, and the cases that must find them. */
const faults: readonly Fault[] = [
  [
    'does not wait for take',
    ['backpressure'],
    (chat) => (call, take) =>
      chat(call, (events) => {
        take(events)
      }),
  ],
  [
    'reports the end of an incomplete reply',
    ['cut-short-ended', 'cut-short-broken'],
    (chat) => (call, take) =>
      chat(call, take).then(
        () => ({ terminated: true }),
        () => ({ terminated: true }),
      ),
  ],
  [
    'falls back to the host’s key',
    ['byok', 'byok-refused'],
    (chat) => (call, take) =>
      chat({ ...call, auth: { kind: 'host', secret: createSecret(ADAPTER_HOST_KEY) } }, take),
  ],
  [
    'retries by itself',
    ['status-500', 'byok-refused'],
    (chat) => (call, take) => chat(call, take).catch(() => chat(call, take)),
  ],
  [
    'ignores the signal',
    ['abort-before'],
    (chat) => (call, take) => {
      const running = chat({ ...call, signal: new AbortController().signal }, take)
      return new Promise((resolve, reject) => {
        running.then(resolve, reject)
        const abort = () => reject(new ProviderError('cut-short', 'aborted'))
        if (call.signal.aborted) setImmediate(abort)
        else call.signal.addEventListener('abort', abort)
      })
    },
  ],
  [
    'opens addresses',
    ['addresses'],
    (chat) => async (call, take) => {
      const [address] = JSON.stringify(call.request).match(/https?:\/\/127\.0\.0\.1:\d+/) ?? []
      if (address !== undefined) await fetch(address).catch(() => {})
      return chat(call, take)
    },
  ],
  [
    'loses usage',
    ['usage-stream', 'usage-json'],
    (chat) => (call, take) => chat(call, (events) => take(events.filter(({ type }) => type !== 'usage'))),
  ],
  [
    'mixes calls up',
    ['parallel'],
    (chat) => {
      let latest: Parameters<Chat>[1]
      return (call, take) => {
        latest = take
        return chat(call, (events) => latest(events))
      }
    },
  ],
  ['sends no trace context', ['trace'], (chat) => (call, take) => chat({ ...call, trace: undefined }, take)],
  [
    'ignores its sizes',
    ['reply-bytes-stream', 'reply-bytes-json', 'event-bytes'],
    (chat) => (call, take) => chat({ ...call, sizes: { replyBytes: 1e9, eventBytes: 1e9 } }, take),
  ],
  [
    'dies of events without content',
    ['answer-stream-noisy'],
    (chat) => (call, take) =>
      chat(call, (events) => {
        for (const event of events) {
          if (event.type === 'data' && event.bytes.includes('"choices":[]')) {
            throw new ProviderError('invalid-response', 'An event without choices.')
          }
        }
        return take(events)
      }),
  ],
  [
    'ends every reply with stop',
    ['answer-stream-filtered', 'answer-json-filtered'],
    (chat) => (call, take) =>
      chat(call, (events) => take(JSON.parse(JSON.stringify(events).replaceAll('content_filter', 'stop')))),
  ],
  [
    'takes two calls of one tool for one',
    ['tools-stream-twice', 'tools-json-twice'],
    (chat) => (call, take) =>
      chat(call, (events) => take(JSON.parse(JSON.stringify(events).replaceAll('call_2', 'call_1')))),
  ],
  [
    'drops the code of a refusal',
    ['status-code'],
    (chat) => (call, take) =>
      chat(call, take).catch((error: ProviderError) => {
        const { providerMessage, reason, status } = error
        throw new ProviderError(reason, error.message, { providerMessage, status })
      }),
  ],
  ...refusedMessages.map(refusing),
  [
    'leaves out calls without a result',
    ['history-interrupted'],
    (chat) => (call, take) => {
      const messages = call.request.messages.filter(({ tool_calls: calls }) => calls === undefined)
      const tools = undefined
      return chat({ ...call, request: { ...call.request, messages, tools } }, take)
    },
  ],
  [
    'changes the request',
    ['answer-stream'],
    (chat) => (call, take) => {
      call.request.model = 'another'
      return chat(call, take)
    },
  ],
]

it.each<[what: string, id: string, spoil: (adapter: Adapter, baseUrl: string) => Adapter]>([
  ['has no key to replace', 'has-key', (adapter) => ({ ...adapter, hasKey: false })],
  [
    'sends a credential of the host with a caller’s key',
    'byok',
    (adapter, baseUrl) => ({
      ...adapter,
      chat: (call, take) => {
        const apiKey = call.auth.secret?.reveal() ?? ADAPTER_HOST_KEY
        const headers = { 'x-proxy-token': ADAPTER_HOST_CREDENTIAL }
        return openaiCompatible({ baseUrl, apiKey, headers }).chat({ ...call, auth: { kind: 'host' } }, take)
      },
    }),
  ],
])("an adapter that takes callers' keys and %s does not pass %s", async (_what, id, spoil) => {
  const failing = adapterCases
    .find((known) => known.id === id)
    ?.run({
      open: (scenario) =>
        openAdapter(scenario, openAiLanguage, (baseUrl) =>
          spoil(openaiCompatible({ baseUrl, apiKey: ADAPTER_HOST_KEY }), baseUrl),
        ),
    })
  await expect(failing).rejects.toThrow()
})

it.each(['byok', 'byok-refused', 'has-key'])(
  "an adapter that does not take callers' keys passes %s",
  async (id) => {
    const { run } = adapterCases.find((known) => known.id === id)!
    await run({
      open: (scenario) =>
        openAdapter(scenario, openAiLanguage, (baseUrl) => ({
          chat: openaiCompatible({ baseUrl, apiKey: ADAPTER_HOST_KEY }).chat,
        })),
    })
  },
)

describe.each(faults)('an adapter that %s', (_what, ids, spoil) => {
  it.each(ids)('does not pass %s', async (id) => {
    const adapterCase = adapterCases.find((known) => known.id === id)
    const failing = adapterCase?.run({
      open: (scenario) =>
        openAdapter(scenario, openAiLanguage, (baseUrl) => {
          const adapter = openaiCompatible({ baseUrl, apiKey: ADAPTER_HOST_KEY })
          return { ...adapter, chat: spoil((call, take) => adapter.chat(call, take)) }
        }),
    })
    await expect(failing).rejects.toThrow()
  })
})

it.each<[what: string, id: string, message: string, spoil: (chat: Chat) => Chat]>([
  [
    'rejects with another error',
    'status-500',
    'a call must reject with a ProviderError; got Error: Words of the adapter',
    (chat) => (call, take) =>
      chat(call, take).catch(() => {
        throw new Error('Words of the adapter')
      }),
  ],
  [
    'returns nothing',
    'answer-stream',
    'chat must return { terminated }, whether the provider reported the end of its reply; got undefined',
    (chat) => async (call, take) => {
      await chat(call, take)
      return undefined as never
    },
  ],
  [
    'passes events one by one',
    'answer-stream',
    'take must be called with an array of events, empty if there are none',
    (chat) => (call, take) => chat(call, (events) => events.forEach((event) => void take(event as never))),
  ],
  [
    'treats its own misuse of take as a failure of the provider',
    'answer-stream',
    'take must be called with an array of events, empty if there are none',
    (chat) => async (call, take) => {
      try {
        await take(undefined as never)
      } catch {
        throw new ProviderError('invalid-response', 'The provider sent something odd.')
      }
      return chat(call, take)
    },
  ],
])('explains the fault of an adapter that %s', async (_what, id, message, spoil) => {
  const { run } = adapterCases.find((one) => one.id === id)!
  const harness = {
    open: (scenario: Parameters<typeof openAdapter>[0]) =>
      openAdapter(scenario, openAiLanguage, (baseUrl) => ({
        chat: spoil(openaiCompatible({ baseUrl, apiKey: ADAPTER_HOST_KEY }).chat),
      })),
  }
  await expect(run(harness)).rejects.toThrow(message)
})
