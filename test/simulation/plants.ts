import type { Clock } from '../../src/base/clock.js'
import { ProviderError } from '../../src/base/errors.js'
import type { EngineOptions } from '../../src/contracts/engine-options.js'
import type { IdempotencyStore } from '../../src/contracts/idempotency.js'
import type { LedgerStore } from '../../src/contracts/ledger.js'
import type { ChatAdapter, Route } from '../../src/contracts/providers.js'
import { Attempt, type Interruption } from '../../src/engine/call/attempt.js'
import { ClientReply } from '../../src/engine/call/client-reply.js'
import { CallerLimits } from '../../src/engine/charging/caller-limits.js'
import { HeldCredit } from '../../src/engine/charging/held-credit.js'
import { LedgerClient } from '../../src/engine/charging/ledger-client.js'
import type { CallEnd } from '../../src/engine/charging/outcome.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import type { UsageReport } from '../../src/protocol/usage.js'
import { wire } from '../../src/protocol/wire-bytes.js'
import { ModelReply } from '../../src/replies/model-reply.js'

/** A bug made on purpose, to check that the simulation finds it. */
export interface Plant {
  readonly name: string
  /** Wraps a dependency of the engine. */
  readonly options?: (options: EngineOptions) => EngineOptions
  /** Changes a part of the engine, and returns a function that restores it. */
  readonly patch?: () => () => void
}

/** Replaces a method for the duration of a run. */
function patched<Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  change: (original: Owner[Name]) => Owner[Name],
): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name)!
  Object.defineProperty(owner, name, { ...descriptor, value: change(owner[name]) })
  return () => void Object.defineProperty(owner, name, descriptor)
}

function callEnd(name: string, change: (end: CallEnd) => CallEnd): Plant {
  return {
    name,
    patch: () =>
      patched(
        Attempt.prototype,
        'callEnd',
        (original) =>
          function (this: Attempt) {
            return change(original.call(this))
          },
      ),
  }
}

function ledger(name: string, change: (store: LedgerStore) => Partial<LedgerStore>): Plant {
  return {
    name,
    options: (options) => ({ ...options, ledger: { ...options.ledger, ...change(options.ledger) } }),
  }
}

function limits<Name extends 'forHold' | 'used'>(
  name: string,
  method: Name,
  change: (original: CallerLimits[Name]) => CallerLimits[Name],
): Plant {
  return { name, patch: () => patched(CallerLimits.prototype, method, change) }
}

function replies(name: string, change: (store: IdempotencyStore) => Partial<IdempotencyStore>): Plant {
  return {
    name,
    options: (options) => {
      const { store } = options.idempotency
      return { ...options, idempotency: { ...options.idempotency, store: { ...store, ...change(store) } } }
    },
  }
}

function routes(name: string, change: (route: Route) => Route): Plant {
  return {
    name,
    options: (options) => ({
      ...options,
      providers: {
        routes: async (model, context) => (await options.providers.routes(model, context)).map(change),
      },
    }),
  }
}

function adapter(name: string, change: (chat: ChatAdapter['chat']) => ChatAdapter['chat']): Plant {
  return routes(name, (route) => ({
    ...route,
    adapter: { chat: change((call, take) => route.adapter.chat!(call, take)) },
  }))
}

/** The objects that a plant can change. */
interface AttemptInside {
  readonly options: { readonly client: ClientReply }
  readonly startedAt: number
  lastByteAt: number
  lastTokenAt: number
  interrupt(this: Attempt, interruption: Interruption): void
}

const NEVER_ABORTED = new AbortController().signal

export const PLANTS: readonly Plant[] = [
  {
    name: 'lost-release',
    patch: () => patched(HeldCredit.prototype, 'release', () => async () => {}),
  },
  {
    name: 'release-without-retry',
    patch: () =>
      patched(
        LedgerClient.prototype,
        'release',
        () =>
          async function (this: LedgerClient, request, requestId) {
            const { options } = this as unknown as { options: EngineOptions }
            const context = { requestId, signal: NEVER_ABORTED }
            Promise.resolve(options.ledger.release(request, context)).catch(() => {})
          },
      ),
  },
  {
    name: 'double-settle',
    patch: () =>
      patched(
        LedgerClient.prototype,
        'settle',
        (original) =>
          function (this: LedgerClient, request, requestId) {
            void original.call(this, { ...request, holdId: `${request.holdId}-again` }, requestId)
            return original.call(this, request, requestId)
          },
      ),
  },
  {
    name: 'settle-given-up-in-silence',
    options: (options) => ({
      ...options,
      emit: (event) => {
        if (event.type !== 'charge-failed') options.emit(event)
      },
    }),
  },
  ledger('release-after-settle', (store) => ({
    settle: async (request, context) => {
      const settled = await store.settle(request, context)
      await store.release({ holdId: request.holdId, account: request.facts.account }, context)
      return settled
    },
  })),
  ledger('hold-asked-again', (store) => ({
    hold: async (request, context) => {
      const first = Promise.resolve(store.hold(request, context))
      return first.catch(() => store.hold(request, context))
    },
  })),
  ledger('first-charge-ignored', (store) => ({
    settle: async (request, context) => ({
      ...(await store.settle(request, context)),
      charge: { ...request.charge, cost: request.charge.cost + 1n },
    }),
  })),
  ledger('markup-kept-by-platform', (store) => ({
    settle: (request, context) => {
      const [payer, platform, app] = request.postings
      const amount = platform!.amount + (app?.amount ?? 0n)
      return store.settle({ ...request, postings: [payer!, { ...platform!, amount }] }, context)
    },
  })),
  ledger('claim-forgotten', (store) => ({
    hold: ({ claim: _, ...request }, context) => store.hold(request, context),
    settle: ({ claim: _, ...request }, context) => store.settle(request, context),
  })),
  ledger('limits-not-asked', (store) => ({
    hold: ({ limits: _, ...request }, context) => store.hold(request, context),
  })),
  ledger('use-not-settled', (store) => ({
    settle: ({ limits: _, ...request }, context) => store.settle(request, context),
  })),
  limits(
    'tokens-not-held',
    'forHold',
    (original) =>
      function (this: CallerLimits, credits) {
        return original.call(this, credits, 0)
      },
  ),
  limits(
    'use-without-markup',
    'used',
    (original) =>
      function (this: CallerLimits, states, cost, usage) {
        return original.call(this, states, cost / 2n, usage)
      },
  ),
  {
    name: 'use-one-too-many',
    patch: () =>
      patched(
        HeldCredit.prototype,
        'handOver',
        (original) =>
          function (this: HeldCredit, charge) {
            const { holdId, limits: uses } = original.call(this, charge)
            return { holdId, limits: uses?.map((use) => ({ ...use, used: use.used + 1n })) }
          },
      ),
  },
  {
    name: 'smaller-hold-for-dearer-route',
    patch: () =>
      patched(
        HeldCredit.prototype,
        'secure',
        (original) =>
          async function (this: HeldCredit, need, facts) {
            return this.amount > 0n ? undefined : original.call(this, need, facts)
          },
      ),
  },
  callEnd('estimate-after-provider-fault', (end) =>
    end.ended === 'broken' && end.token ? { ...end, ended: 'left' } : end,
  ),
  callEnd('charge-with-http-error', (end) => ({ ...end, streaming: true })),
  callEnd('usage-ignored-after-break', (end) => (end.ended === 'broken' ? { ...end, reported: false } : end)),
  callEnd('free-for-who-leaves', (end) => (end.ended === 'left' ? { ...end, token: false } : end)),
  callEnd('zero-usage-taken-for-missing', (end) => ({ ...end, reported: false })),
  {
    name: 'usage-summed',
    patch: () =>
      patched(UsageMeter.prototype, 'snapshot', (original) => {
        const sums = new WeakMap<UsageMeter, number>()
        return function (this: UsageMeter, report: UsageReport, finished: boolean) {
          const { completion } = report
          const isCount = typeof completion === 'number' && completion >= 0 && completion < 1e6
          if (!isCount) return original.call(this, report, finished)
          const sum = (sums.get(this) ?? 0) + completion
          sums.set(this, sum)
          original.call(this, { ...report, completion: sum }, finished)
        }
      }),
  },
  {
    name: 'nonsense-taken-for-zero',
    patch: () =>
      patched(
        UsageMeter.prototype,
        'snapshot',
        (original) =>
          function (this: UsageMeter, report: UsageReport, finished: boolean) {
            const { prompt } = report
            const mended = typeof prompt === 'number' && prompt >= 0 && prompt < 1e9 ? prompt : 0
            original.call(this, { ...report, prompt: mended }, finished)
          },
      ),
  },
  routes('always-hung-up-on', (route) => ({ ...route, onDisconnect: 'abort' })),
  routes('never-hung-up-on', (route) => ({ ...route, onDisconnect: 'drain' })),
  {
    name: 'cut-short-once-left',
    patch: () =>
      patched(
        Attempt.prototype,
        'check',
        (original) =>
          function (this: Attempt, now) {
            const { interrupt, options } = this as unknown as AttemptInside
            if (options.client.left) interrupt.call(this, { why: 'left' })
            return original.call(this, now)
          },
      ),
  },
  {
    name: 'one-body-hurried',
    patch: () =>
      patched(
        Attempt.prototype,
        'run',
        (original) =>
          function (this: Attempt) {
            const inside = this as unknown as AttemptInside
            inside.lastByteAt = inside.startedAt
            inside.lastTokenAt = inside.startedAt
            return original.call(this)
          },
      ),
  },
  {
    name: 'timeout-moves-on',
    patch: () =>
      patched(
        Attempt.prototype as unknown as AttemptInside,
        'interrupt',
        (original) =>
          function (this: Attempt, interruption) {
            const isTimeout = interruption.why === 'broken' && interruption.error.reason === 'answer-timeout'
            const error = new ProviderError('unreachable', 'It did not answer.')
            original.call(this, isTimeout ? { why: 'broken', error } : interruption)
          },
      ),
  },
  callEnd('free-for-the-unreadable', (end) =>
    end.unreadable && end.streaming ? { ...end, unreadable: false, ended: 'broken', reported: false } : end,
  ),
  callEnd('unreadable-passed-for-whole', (end) => ({ ...end, unreadable: false })),
  {
    name: 'leaving-not-noticed',
    patch: () => patched(Attempt.prototype, 'leave', () => () => {}),
  },
  adapter(
    'hang-up-not-passed-on',
    (chat) => (call, take) => chat({ ...call, signal: new AbortController().signal }, take),
  ),
  adapter('fallback-after-text', (chat) => (call, take) => {
    let cut = false
    return chat(call, (events) => {
      if (cut) return
      cut = events.some((event) => event.type === 'data' && event.bytes.includes('error'))
      return cut ? undefined : take(events)
    })
  }),
  {
    name: 'done-after-a-break',
    patch: () =>
      patched(
        ClientReply.prototype,
        'end',
        (original) =>
          function (this: ClientReply, bytes) {
            const isError = typeof bytes === 'string' && bytes.startsWith('data: {"error"')
            return original.call(this, isError ? wire(`${bytes}data: [DONE]\n\n`) : bytes)
          },
      ),
  },
  {
    name: 'cost-through-a-double',
    patch: () =>
      patched(
        ModelReply.prototype,
        'closing',
        (original) =>
          function (this: ModelReply, charge) {
            return original.call(this, {
              ...charge,
              cost: BigInt(Math.floor(Number(charge.cost) * 1.0000001)),
            })
          },
      ),
  },
  {
    name: 'timer-left',
    options: (options) => ({ ...options, clock: withoutCancel(options.clock) }),
  },
  {
    name: 'two-ends',
    options: (options) => ({
      ...options,
      emit: (event) => {
        options.emit(event)
        if (event.type === 'request-end' && event.charge !== undefined) options.emit(event)
      },
    }),
  },
  {
    name: 'overdraft-allowed',
    options: (options) => ({ ...options, neverOverdraw: false }),
  },
  replies('stored-reply-changed', (store) => ({
    complete: (claim, reply, ttlMs, context) =>
      store.complete(claim, { ...reply, ...(reply.bytes && { bytes: `${reply.bytes} ` }) }, ttlMs, context),
  })),
  replies('digest-ignored', (store) => ({
    claim: (request, context) => store.claim({ ...request, digest: 'same' }, context),
  })),
]

function withoutCancel(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    after(ms, run, background) {
      let wanted = true
      clock.after(ms, () => wanted && run(), background)
      return () => {
        wanted = false
      }
    },
  }
}
