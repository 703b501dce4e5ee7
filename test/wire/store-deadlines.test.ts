import { describe, expect, test } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { generateEnvelopeKey, keyring } from '../../src/index.js'
import type { CallContext, HoldResult } from '../../src/stores.js'
import { createDeferred } from '../helpers/deferred.js'
import { turns } from '../helpers/stepped-clock.js'
import { API_KEY, ask, type ServiceOptions, WireService } from './service.js'

describe('the deadline storeMs', () => {
  const never = () => new Promise<never>(() => {})
  const key = generateEnvelopeKey('limits')

  /** The store that does not answer, and the request that asks it. */
  interface SilentStore {
    readonly code: string
    readonly router: (silent: (context: CallContext) => Promise<never>) => ServiceOptions['router']
    readonly body?: () => Promise<object>
    readonly headers?: Readonly<Record<string, string>>
    readonly path?: string
  }

  const silentStores: Readonly<Record<string, SilentStore>> = {
    'credentials.resolve': {
      code: 'credential_store_unavailable',
      router: (silent) => () => ({ credentials: { resolve: (_token, context) => silent(context) } }),
    },
    'catalogue.get': {
      code: 'catalogue_unavailable',
      router:
        (silent) =>
        ({ catalogue }) => ({ catalogue: { ...catalogue, get: (_id, context) => silent(context) } }),
    },
    'catalogue.list': {
      code: 'catalogue_unavailable',
      router:
        (silent) =>
        ({ catalogue }) => ({ catalogue: { ...catalogue, list: silent } }),
      path: '/models',
    },
    'providers.routes': {
      code: 'provider_registry_unavailable',
      router: (silent) => () => ({ providers: { routes: (_model, context) => silent(context) } }),
    },
    'envelopes.open': {
      code: 'envelope_opener_unavailable',
      router: (silent) => () => ({ envelopes: { open: (_envelope, _binding, context) => silent(context) } }),
      body: async () => ({
        provider: 'p0',
        provider_key: await sealProviderKey(
          { key: 'sk-own', provider: 'p0', account: 'alice' },
          keyring([await key]).publicKeys().keys[0]!,
        ),
      }),
    },
    'idempotency.claim': {
      code: 'idempotency_store_unavailable',
      router: (silent) => () => ({
        idempotency: {
          store: {
            claim: (_request, context) => silent(context),
            complete: async () => {},
            abandon: async () => {},
          },
        },
      }),
      headers: { 'idempotency-key': 'one' },
    },
    'ledger.hold': {
      code: 'ledger_unavailable',
      router:
        (silent) =>
        ({ ledger }) => ({ ledger: { ...ledger, hold: (_request, context) => silent(context) } }),
    },
  }

  test.each(Object.entries(silentStores))(
    'leads to a 503 if %s does not answer, and its signal aborts',
    async (_name, { body, code, headers, path, router }) => {
      const asked = createDeferred<CallContext>()
      const service = await WireService.start({
        expectsFaults: true,
        router: router((context) => {
          asked.resolve(context)
          return never()
        })!,
      })
      let answered = false
      const response = (
        path === undefined ? service.post(ask({ ...(await body?.()) }), headers) : service.get(path)
      ).then((got) => {
        answered = true
        return got
      })
      const { signal } = await asked.promise
      await service.clock.elapse(4_999)
      await turns(20)
      expect(answered).toBe(false)
      expect(signal.aborted).toBe(false)
      await service.clock.elapse(1)
      const { headers: got, status } = await response
      expect(status).toBe(503)
      expect(got['retry-after']).toMatch(/^\d+$/)
      expect(await (await response).json()).toMatchObject({ error: { code } })
      expect(signal.aborted).toBe(true)
      expect(service.asked).toEqual([])
      expect(service.events).toContainEqual(expect.objectContaining({ type: 'store-fault' }))
      expect(await service.posted('alice')).toBe(1_000_000_000n)
      await service.close()
    },
  )

  test.each(Object.entries(silentStores).filter(([name]) => !/^(?:ledger|idempotency)/.test(name)))(
    'is not awaited for %s once its client leaves, and its signal aborts',
    async (_name, { body, headers = {}, path, router }) => {
      const asked = createDeferred<CallContext>()
      const service = await WireService.start({
        router: router((context) => {
          asked.resolve(context)
          return never()
        })!,
      })
      const leaving = new AbortController()
      const left = fetch(service.host.baseUrl + (path ?? '/chat/completions'), {
        signal: leaving.signal,
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', ...headers },
        ...(path === undefined && { method: 'POST', body: JSON.stringify(ask({ ...(await body?.()) })) }),
      }).catch(() => 'left')
      const { signal } = await asked.promise
      const told = new Promise((resolve) => signal.addEventListener('abort', resolve))
      leaving.abort()
      expect(await left).toBe('left')
      await told
      await service.clock.elapse(5_000)
      expect(await service.event('request-end')).toMatchObject({ outcome: 'client-left', status: 499 })
      await service.close()
    },
  )

  test('releases a hold that arrives too late', async () => {
    let taken: Promise<HoldResult> | undefined
    const answer = createDeferred()
    const asked = createDeferred()
    const service = await WireService.start({
      expectsFaults: true,
      router: ({ ledger }) => ({
        ledger: {
          ...ledger,
          hold(request, context) {
            taken = answer.promise.then(() => ledger.hold(request, context))
            asked.resolve()
            return taken
          },
        },
      }),
    })
    const response = service.post(ask())
    await asked.promise
    await service.clock.elapse(5_000)
    expect((await response).status).toBe(503)
    answer.resolve()
    await expect(taken).resolves.toMatchObject({ ok: false, reason: 'closed' })
    expect(await service.held('alice')).toBe(0n)
    await service.close()
  })

  test('leads to a 503 if public keys do not arrive', async () => {
    const asked = createDeferred()
    const service = await WireService.start({
      expectsFaults: true,
      router: () => ({
        envelopes: {
          open: never,
          publicKeys: () => {
            asked.resolve()
            return never()
          },
        },
      }),
    })
    const response = service.host.request('/envelope-keys')
    await asked.promise
    await service.clock.elapse(5_000)
    expect((await response).status).toBe(503)
    expect((await response).headers).toMatchObject({ 'cache-control': 'no-store' })
    expect(await (await response).json()).toMatchObject({ error: { code: 'envelope_opener_unavailable' } })
    expect(await service.event('store-fault')).toMatchObject({ store: 'envelopes' })
    await service.close()
  })
})
