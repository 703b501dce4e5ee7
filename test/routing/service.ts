import type { IncomingHttpHeaders } from 'node:http'
import {
  type CompatRouter,
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
  type RouterEvent,
  type RouterOptions,
} from '../../src/index.js'
import type { MemoryLedger, MemoryModel, MemoryProvider, ProviderRegistry } from '../../src/stores.js'
import { type EventOf, RouterHarness } from '../helpers/router-harness.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  type ScriptedReply,
  type ScriptedRequest,
  type ScriptedUpstream,
  type Step,
  startScriptedUpstream,
  textChunk,
} from '../helpers/scripted-upstream.js'

export const MODEL = 'acme/fast'
export const UPSTREAM_MODEL = 'secret-model-2024-07-18'
export const ALICE = 'token-of-alice'
export const APP = 'token-of-an-app'
/** 20 %. */
export const MARKUP = { basisPoints: 2_000 }
export const PRICES = { input: '10', output: '20' }
export const COUNTS = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

export interface ServiceOptions {
  /** One provider each, `p0` first. */
  readonly routes?: readonly (Partial<Omit<MemoryProvider, 'models'>> & {
    readonly apiKey?: string
    /** Nothing listens there. */
    readonly dead?: boolean
  })[]
  readonly model?: Partial<MemoryModel>
  readonly balance?: string
  /** Stands before the registry. */
  readonly registry?: (registry: ProviderRegistry) => ProviderRegistry
  readonly router?: Partial<RouterOptions>
}

export interface Answer {
  readonly id: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export type RequestEnd = EventOf<'request-end'>

export interface Service {
  readonly upstreams: readonly ScriptedUpstream[]
  readonly router: CompatRouter
  readonly ledger: MemoryLedger
  readonly events: readonly RouterEvent[]
  readonly url: string
  ask(body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** The event at the end of a request. */
  end(answer: Pick<Answer, 'id'>): Promise<RequestEnd>
  /** Posted to an account, in credits. */
  posted(account: string): Promise<bigint | undefined>
  close(): Promise<void>
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { balance = '1', model, registry = (own) => own, routes = [{}], router: more } = options
  const upstreams = await Promise.all(routes.map(() => startScriptedUpstream()))
  const providers = routes.map(({ apiKey, dead, ...route }, index) => {
    const upstream = upstreams[index]!
    upstream.script(answers(`I am p${index}`))
    return {
      id: `p${index}`,
      models: { [MODEL]: UPSTREAM_MODEL },
      adapter: openaiCompatible({
        baseUrl: dead ? 'http://127.0.0.1:1/v1' : upstream.baseUrl,
        ...(apiKey !== undefined && { apiKey }),
      }),
      ...route,
    }
  })
  const harness = new RouterHarness()
  const ledger = memoryLedger({ alice: balance })
  const router = createCompatRouter({
    credentials: memoryCredentials({
      [ALICE]: { kind: 'api-key', account: 'alice' },
      [APP]: {
        kind: 'access-token',
        account: 'alice',
        scopes: ['models.run'],
        app: { id: 'app-1', account: 'app', markup: MARKUP, allowedModels: [MODEL] },
      },
    }),
    catalogue: memoryCatalogue([{ id: MODEL, prices: PRICES, ...model }]),
    ledger,
    providers: registry(memoryProviders(providers)),
    ...more,
    onEvent: (event) => {
      try {
        if (typeof more?.onEvent === 'function') more.onEvent(event)
      } finally {
        harness.take(event)
      }
    },
  })
  const host = await harness.serve(router)
  let calls = 0
  return {
    upstreams,
    router,
    ledger,
    events: harness.events,
    url: host.baseUrl,
    async ask(body = {}, headers = {}) {
      const id = `call-${++calls}`
      const { status, ...reply } = await host.request('/chat/completions', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${ALICE}`,
          'content-type': 'application/json',
          'x-request-id': id,
          ...headers,
        },
        body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }], ...body }),
      })
      return { id, status, headers: reply.headers, text: await reply.text() }
    },
    end: ({ id }) => harness.event('request-end', id),
    posted: async (account) =>
      (await ledger.balance(account, { requestId: 'test', signal: new AbortController().signal }))?.posted,
    async close() {
      await router.close({ graceMs: 0 })
      for (const upstream of upstreams) await upstream.close()
      for (const { adapter } of providers) await adapter.close?.()
      await harness.close()
    },
  }
}

/** A script that answers as requested: a stream or JSON. */
export function answers(text: string, usage: object = COUNTS): Script {
  const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }]
  const whole = { id: 'up-1', object: 'chat.completion', created: 1, model: UPSTREAM_MODEL, choices, usage }
  const stream = answerEvents([textChunk(text), finishChunk(), { ...textChunk(''), choices: [], usage }])
  return (reply, request) => perform(isStream(request) ? stream : answerJson(whole), reply)
}

/** A script that answers with an error status. */
export function fails(
  status: number,
  { message = 'no', ...headers }: Readonly<Record<string, string>> = {},
): Script {
  return answerJson({ error: { message, type: 'odd', code: null } }, status, headers)
}

export function isStream({ body }: ScriptedRequest): boolean {
  return (body as { stream?: unknown }).stream === true
}

/** Plays the steps of a script that has any. */
export async function perform(script: Script, reply: ScriptedReply): Promise<void> {
  if (typeof script === 'function') throw new Error('Steps are expected.')
  for (const step of script) await performStep(step, reply)
}

async function performStep(step: Step, reply: ScriptedReply): Promise<void> {
  if (step === 'end') reply.end()
  else if (step === 'hang-up') reply.hangUp()
  else if (step === 'reset') reply.reset()
  else if (step === 'stall') await reply.closed
  else if ('head' in step) reply.head(step.head, step.headers)
  else if ('write' in step) await reply.write(step.write)
  else if ('raw' in step) await reply.raw(step.raw)
  else await step.wait
}

/** `error.code` of an error answer. */
export function errorOf({ text }: Answer): {
  code: string
  message: string
  param: string | null
  source: string
  details?: unknown
} {
  return JSON.parse(text).error
}

/** The text of a reply, streamed or not. */
export function contentOf({ text }: Answer): string {
  if (text.startsWith('{')) return JSON.parse(text).choices[0].message.content
  return dataOf(text)
    .flatMap((chunk) => chunk.choices ?? [])
    .map((choice: { delta?: { content?: string } }) => choice.delta?.content ?? '')
    .join('')
}

export function usageOf({ text }: Answer): {
  cost: number
  is_byok: boolean
  charge: { basis: string; base_cost: number; markup_cost: number }
} {
  if (text.startsWith('{')) return JSON.parse(text).usage
  return dataOf(text).at(-1).usage
}

function dataOf(text: string) {
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice(6)))
}
