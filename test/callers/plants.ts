import { ProviderError, type RouterOptions, type TokenCounter } from 'compat-router'
import type { AdapterRun, ProviderAdapter, ProviderRequest } from 'compat-router/adapters'
import type { HoldRequest, Route } from 'compat-router/stores'
import { aroundChats } from '../helpers/around-chats.js'
import type { CallPlan } from './call-plan.js'
import { HOSTILE_FIELDS } from './hostile-fields.js'
import type { World } from './world.js'

/** A hole made on purpose, to check that the fuzzer finds it. */
export interface Plant {
  readonly name: string
  /** The promises that it breaks. It counts as found when one of these is reported broken. */
  readonly breaks: readonly string[]
  readonly options?: (options: RouterOptions, world: World) => RouterOptions
  readonly adapter?: (adapter: ProviderAdapter, world: World) => ProviderAdapter
  /** Changes a request on its last step to the provider. */
  readonly arrives?: (text: string, plan: CallPlan, world: World) => string
}

type HoldLimit = NonNullable<HoldRequest['limits']>[number]

type Change = <Request extends ProviderRequest>(ask: AdapterRun<Request>, world: World) => AdapterRun<Request>

function chat(change: Change): NonNullable<Plant['adapter']> {
  return (adapter, world) => aroundChats(adapter, (ask) => change(ask, world))
}

function routes(change: (route: Route, world: World) => Route): NonNullable<Plant['options']> {
  return (options, world) => ({
    ...options,
    providers: {
      routes: async (model, context) =>
        (await options.providers.routes(model, context)).map((route) => change(route, world)),
    },
  })
}

/** Changes the limits of a hold on their way to the ledger. */
function limits(
  change: (limit: HoldLimit, request: HoldRequest) => HoldLimit,
): NonNullable<Plant['options']> {
  return (options) => {
    const { ledger } = options
    if (ledger === undefined) return options
    return {
      ...options,
      ledger: {
        ...ledger,
        hold: (request, context) =>
          ledger.hold(
            { ...request, limits: (request.limits ?? []).map((limit) => change(limit, request)) },
            context,
          ),
      },
    }
  }
}

function model(change: (listed: object) => object): NonNullable<Plant['options']> {
  return (options) => ({
    ...options,
    catalogue: {
      list: (context) => options.catalogue.list(context),
      get: async (id, context) => {
        const found = await options.catalogue.get(id, context)
        return found && ({ ...found, ...change(found) } as typeof found)
      },
    },
  })
}

/** As many tokens as the bytes of what is made of a text. */
function bytesOf(made: (text: string) => string, bytesAToken = 1): TokenCounter {
  return {
    tally: () => {
      let bytes = 0
      return {
        add: (text) => {
          bytes += Buffer.byteLength(made(text))
        },
        atMost: () => Math.ceil(bytes / bytesAToken),
        atLeast: () => 0,
      }
    },
  }
}

function counted(tokenCounter: TokenCounter): NonNullable<Plant['options']> {
  return (options) => ({ ...options, tokenCounter })
}

/** Reads a provider's refusals and remembers those that contain a certain word. */
const learns = (word: RegExp) =>
  chat((ask, { planted }) => async (call, take) => {
    try {
      return await ask(call, take)
    } catch (error) {
      if (error instanceof ProviderError && word.test(error.providerMessage ?? '')) planted.hasLearnt = true
      throw error
    }
  })

const UNREADABLE = /arguments\\?":(\[|5|\{)|MALFORMED/
const SILENCE_MS = 120_000
const READ_ON = 2
const IMPLAUSIBLE = 1_000
const BYTES_A_TOKEN = 3
const PLENTY = 2n ** 62n
const TOKENS_A_FILE = 8_000
const CUT_TOKENS = 4_096

export const PLANTS: readonly Plant[] = [
  {
    name: 'usage-not-asked-for-after-a-quote',
    breaks: ['control-changed'],
    adapter: learns(/stream_options/),
    arrives: (text, _plan, { planted }) =>
      planted.hasLearnt ? text.replace(/"stream_options":\{[^}]*\},?/, '').replace(',}', '}') : text,
  },
  {
    name: 'reasoning-taken-out-after-a-quote',
    breaks: ['control-changed'],
    adapter: learns(/reasoning/),
    arrives: (text, _plan, { planted }) =>
      planted.hasLearnt ? text.replace(/,"reasoning":"[^"]*"/g, '') : text,
  },
  {
    name: 'any-callers-key-taken',
    breaks: ['free-key'],
    options: routes((route) => ({
      ...route,
      byok: 'yes',
      adapter: { ...route.adapter, takesKeys: true, hasKey: true },
    })),
  },
  {
    name: 'unknown-fields-passed',
    breaks: ['unlisted-field', 'billed-extra'],
    options: model(() => ({ supportedParameters: HOSTILE_FIELDS.map(([name]) => name) })),
  },
  {
    name: 'unreadable-content-free',
    breaks: ['underpaid', 'unreadable-refused'],
    adapter: chat(
      (ask) => (call, take) =>
        ask(call, (events) => {
          if (UNREADABLE.test(JSON.stringify(events))) {
            throw new ProviderError('invalid-response', 'The reply cannot be read.')
          }
          return take(events)
        }),
    ),
  },
  {
    name: 'bound-not-clamped',
    breaks: ['bound-above-list'],
    arrives: (text, plan) => {
      const asked = /"max_tokens":(\d+)/.exec(plan.text)?.[1]
      return asked === undefined ? text : text.replace(/"max_tokens":\d+/, `"max_tokens":${asked}`)
    },
  },
  {
    name: 'large-counts-taken-as-missing',
    breaks: ['underpaid'],
    adapter: chat(
      (ask) => (call, take) =>
        ask(call, (events) =>
          take(
            events.map((event) => {
              if (event.type !== 'usage' || Number(event.usage.completion) <= IMPLAUSIBLE) return event
              return { ...event, usage: { ...event.usage, completion: undefined } }
            }),
          ),
        ),
    ),
  },
  {
    name: 'media-held-as-pictures',
    breaks: ['shortfall'],
    options: model(() => ({ mediaTokens: 260 })),
  },
  {
    name: 'three-bytes-a-token',
    breaks: ['held-too-low', 'shortfall'],
    options: counted(bytesOf((text) => text, BYTES_A_TOKEN)),
  },
  {
    name: 'marks-counted-as-composed',
    breaks: ['held-too-low', 'shortfall'],
    options: counted(bytesOf((text) => [...text].map((char) => char.normalize('NFKC')).join(''))),
  },
  {
    name: 'escapes-counted-as-characters',
    breaks: ['held-too-low', 'shortfall'],
    options: counted(bytesOf((text) => text.replace(/\\(u[0-9a-f]{4}|.)/gs, 'x'))),
  },
  {
    name: 'files-held-as-media',
    breaks: ['shortfall'],
    options: counted({
      tally: () => {
        const text = bytesOf((read) => read).tally()
        let files = 0
        return {
          add: (read) => text.add(read),
          addMedia: () => {
            files += TOKENS_A_FILE
          },
          atMost: () => text.atMost() + files,
          atLeast: () => 0,
        }
      },
    }),
  },
  {
    name: 'output-cut-at-a-default',
    breaks: ['chosen-too-low'],
    options: model((listed) => ({
      defaultOutputTokens: Math.min(
        CUT_TOKENS,
        'maxOutputTokens' in listed ? Number(listed.maxOutputTokens) : CUT_TOKENS,
      ),
    })),
  },
  {
    name: 'counts-without-credit',
    breaks: ['without-credit'],
    options: (options) => ({
      ...options,
      ledger: { ...options.ledger, balance: async () => ({ posted: PLENTY, held: 0n, available: PLENTY }) },
    }),
  },
  {
    name: 'balance-told-to-apps',
    breaks: ['balance-shown'],
    options: (options) => ({
      ...options,
      credentials: {
        resolve: async (token, context) => {
          const result = await options.credentials.resolve(token, context)
          if (!result.ok || result.principal.kind !== 'access-token') return result
          const { principal } = result
          return { ok: true, principal: { ...principal, scopes: [...principal.scopes, 'credits.read'] } }
        },
      },
    }),
  },
  {
    name: 'slow-bodies-given-up',
    breaks: ['hung-up', 'asked-another'],
    adapter: chat((ask, { clock }) => (call, take) => {
      if (call.stream) return ask(call, take)
      const given = new AbortController()
      const signal = AbortSignal.any([call.signal, given.signal])
      return new Promise((resolve, reject) => {
        const cancel = clock.after(SILENCE_MS, () => {
          given.abort()
          reject(new ProviderError('unreachable', 'The provider sent no byte.'))
        })
        ask({ ...call, signal }, take)
          .then(resolve, reject)
          .finally(cancel)
      })
    }),
  },
  {
    name: 'limits-open-to-keyed-calls',
    breaks: ['limit', 'over-rate', 'over-budget'],
    options: limits((limit, { claim }) => (claim === undefined ? limit : { ...limit, limit: PLENTY })),
  },
  {
    name: 'budgets-held-at-half',
    breaks: ['limit', 'over-budget'],
    options: limits((limit) => (limit.unit === 'credits' ? { ...limit, amount: limit.amount / 2n } : limit)),
  },
  {
    name: 'limits-that-refuse-early',
    breaks: ['limit'],
    options: limits((limit) => ({ ...limit, limit: (limit.limit * 3n) / 4n })),
  },
  {
    name: 'few-replies-read-on',
    breaks: ['underpaid'],
    options: routes((route, { planted }) =>
      ++planted.calls > READ_ON ? { ...route, onDisconnect: 'abort' } : route,
    ),
  },
]
