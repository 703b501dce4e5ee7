import { hash } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { cachedCredentials } from '../../src/cache/index.js'
import type { CredentialResult, Watch } from '../../src/contracts/index.js'
import { createManualClock } from '../conformance/manual-clock.js'
import { contextOf, createScriptedStore, credentialStoreOf } from './scripted-store.js'

const UNKNOWN: CredentialResult = { ok: false, reason: 'unknown' }

function good(credentialId: string, expiresAt?: number): CredentialResult {
  return {
    ok: true,
    principal: {
      kind: 'api-key',
      credentialId,
      account: 'alice',
      ...(expiresAt !== undefined && { expiresAt }),
    },
  }
}

function open(options: { ttlMs?: number; maxEntries?: number; loadMs?: number } = {}) {
  const clock = createManualClock()
  const script = createScriptedStore<CredentialResult>()
  const cache = cachedCredentials(credentialStoreOf(script), { clock, ...options })
  const resolve = async (token: string, signal?: AbortSignal) => cache.resolve(token, contextOf(signal))
  /** Asks, and lets the store answer. */
  const fill = async (token: string, result: CredentialResult) => {
    const asked = resolve(token)
    script.next().answer(result)
    return asked
  }
  return { clock, script, cache, resolve, fill }
}

describe('cachedCredentials', () => {
  it('asks the store once, then answers from the cache synchronously', async () => {
    const { cache, script, fill } = open()
    expect(await fill('sk-a', good('a'))).toEqual(good('a'))
    expect(cache.resolve('sk-a', contextOf())).toEqual(good('a'))
    expect(script.asked).toHaveLength(1)
  })

  it('keeps the answers for different tokens separate', async () => {
    const { fill, resolve } = open()
    await fill('sk-a', good('a'))
    await fill('sk-b', good('b'))
    expect(await resolve('sk-a')).toEqual(good('a'))
    expect(await resolve('sk-b')).toEqual(good('b'))
  })

  it('serves an answer for 5 seconds and no longer', async () => {
    const { clock, script, fill, resolve } = open()
    await fill('sk-a', good('a'))
    clock.advance(4_999)
    await resolve('sk-a')
    expect(script.asked).toHaveLength(1)
    clock.advance(2)
    expect(await fill('sk-a', good('later'))).toEqual(good('later'))
    expect(script.asked).toHaveLength(2)
  })

  it('does not keep an answer longer because it is used', async () => {
    const { clock, script, fill, resolve } = open()
    await fill('sk-a', good('a'))
    for (let second = 0; second < 5; second++) {
      clock.advance(990)
      await resolve('sk-a')
    }
    clock.advance(60)
    await fill('sk-a', good('a'))
    expect(script.asked).toHaveLength(2)
  })

  it('keeps no answer longer if the clock is set back', async () => {
    const { clock, script, fill, resolve } = open()
    await fill('sk-a', good('a'))
    await fill('sk-b', UNKNOWN)
    clock.advance(-3_600_000)
    expect(await fill('sk-a', UNKNOWN)).toEqual(UNKNOWN)
    expect(await fill('sk-b', good('b'))).toEqual(good('b'))
    clock.advance(1_000)
    expect(await resolve('sk-b')).toEqual(good('b'))
    expect(script.asked).toHaveLength(4)
  })

  it('works with a clock that starts at 0', async () => {
    const clock = createManualClock(0)
    const script = createScriptedStore<CredentialResult>()
    const cache = cachedCredentials(credentialStoreOf(script), { clock })
    const first = cache.resolve('sk-a', contextOf())
    script.next().answer(good('a'))
    await first
    clock.advance(5_001)
    void Promise.resolve(cache.resolve('sk-a', contextOf())).catch(() => {})
    expect(script.pending).toBe(1)
  })

  it('asks again in the exact millisecond in which a credential expires', async () => {
    const { clock, script, fill, resolve } = open()
    await fill('sk-a', good('a', clock.now() + 1_000))
    clock.advance(999)
    expect((await resolve('sk-a')).ok).toBe(true)
    clock.advance(1)
    expect(await fill('sk-a', { ok: false, reason: 'expired' })).toEqual({ ok: false, reason: 'expired' })
    expect(script.asked).toHaveLength(2)
  })

  it('does not keep an expired credential', async () => {
    const { clock, script, fill } = open()
    await fill('sk-a', good('a', clock.now()))
    await fill('sk-a', good('a', clock.now() - 1))
    expect(script.asked).toHaveLength(2)
  })

  it('keeps the owner in a refusal as a frozen copy', async () => {
    const { script, fill, resolve } = open()
    const credential = { credentialId: 'a', account: 'alice', appId: 'app-1' }
    const refused: CredentialResult = { ok: false, reason: 'suspended', credential }
    await fill('sk-a', refused)
    credential.account = 'mallory'
    const kept = await resolve('sk-a')
    expect(kept).toEqual({ ...refused, credential: { credentialId: 'a', account: 'alice', appId: 'app-1' } })
    expect(!kept.ok && Object.isFrozen(kept.credential)).toBe(true)
    expect(script.asked).toHaveLength(1)
  })

  it('keeps a refusal for one second', async () => {
    const { clock, script, fill, resolve } = open()
    await fill('sk-x', UNKNOWN)
    clock.advance(1_000)
    expect(await resolve('sk-x')).toEqual(UNKNOWN)
    expect(script.asked).toHaveLength(1)
    clock.advance(1)
    await fill('sk-x', good('x'))
    expect(script.asked).toHaveLength(2)
  })

  it('keeps valid tokens through a flood of bad ones, and the latest 1,000 bad ones', async () => {
    const { script, fill, resolve } = open({ maxEntries: 1 })
    await fill('sk-a', good('a'))
    for (let number = 0; number < 1_001; number++) await fill(`sk-bad-${number}`, UNKNOWN)
    const asked = script.asked.length
    expect(await resolve('sk-a')).toEqual(good('a'))
    await resolve('sk-bad-1')
    await resolve('sk-bad-1000')
    expect(script.asked).toHaveLength(asked)
    await fill('sk-bad-0', UNKNOWN)
    expect(script.asked).toHaveLength(asked + 1)
  })

  it('drops the least recently used answer beyond maxEntries', async () => {
    const { script, fill, resolve } = open({ maxEntries: 2 })
    await fill('sk-a', good('a'))
    await fill('sk-b', good('b'))
    await resolve('sk-a')
    await fill('sk-c', good('c'))
    await resolve('sk-a')
    expect(script.asked).toHaveLength(3)
    await fill('sk-b', good('b'))
    expect(script.asked).toHaveLength(4)
  })

  it('asks once for concurrent callers', async () => {
    const { script, resolve } = open()
    const all = Promise.all([resolve('sk-a'), resolve('sk-a'), resolve('sk-a')])
    expect(script.asked).toHaveLength(1)
    script.next().answer(good('a'))
    expect(await all).toEqual([good('a'), good('a'), good('a')])
  })

  it('continues the look-up for the other callers if one leaves', async () => {
    const { script, resolve } = open()
    const leaving = new AbortController()
    const first = resolve('sk-a', leaving.signal)
    const second = resolve('sk-a')
    leaving.abort(new Error('left'))
    await expect(first).rejects.toThrow('left')
    expect(script.asked[0]?.context.signal.aborted).toBe(false)
    script.next().answer(good('a'))
    expect(await second).toEqual(good('a'))
    expect(await resolve('sk-a')).toEqual(good('a'))
    expect(script.asked).toHaveLength(1)
  })

  it('keeps the answer even if all callers have left', async () => {
    const { script, resolve } = open()
    const leaving = new AbortController()
    const only = resolve('sk-a', leaving.signal)
    leaving.abort(new Error('left'))
    await expect(only).rejects.toThrow('left')
    script.next().answer(good('a'))
    await new Promise(setImmediate)
    expect(await resolve('sk-a')).toEqual(good('a'))
    expect(script.asked).toHaveLength(1)
  })

  it('aborts the look-up when all callers have left, and asks again for the next caller', async () => {
    const { script, resolve } = open()
    const [one, other] = [new AbortController(), new AbortController()]
    const both = Promise.allSettled([resolve('sk-a', one.signal), resolve('sk-a', other.signal)])
    one.abort(new Error('left'))
    expect(script.asked[0]?.context.signal.aborted).toBe(false)
    other.abort(new Error('left'))
    expect(script.asked[0]?.context.signal.aborted).toBe(true)
    await both
    const next = resolve('sk-a')
    expect(script.asked).toHaveLength(2)
    script.next().fail(new Error('left'))
    script.next().answer(good('a'))
    expect(await next).toEqual(good('a'))
  })

  it('does not ask the store for a caller that has left', async () => {
    const { script, resolve } = open()
    await expect(resolve('sk-a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    expect(script.asked).toHaveLength(0)
  })

  it('survives a look-up that fails after all callers have left', async () => {
    const { script, resolve, fill } = open()
    const leaving = new AbortController()
    const only = resolve('sk-a', leaving.signal)
    leaving.abort(new Error('left'))
    await expect(only).rejects.toThrow('left')
    script.next().fail(new Error('down'))
    await new Promise(setImmediate)
    expect(await fill('sk-a', good('a'))).toEqual(good('a'))
  })

  it('rejects a caller whose signal has aborted, and removes its listeners from other signals', async () => {
    const { script, resolve } = open()
    await expect(resolve('sk-a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    const staying = new AbortController()
    let listeners = 0
    const { signal } = staying
    const [add, remove] = [signal.addEventListener, signal.removeEventListener]
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add.apply(signal, args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove.apply(signal, args)
    }
    const waiting = resolve('sk-a', signal)
    expect(listeners).toBe(1)
    script.next().answer(good('a'))
    await waiting
    await new Promise(setImmediate)
    expect(listeners).toBe(0)
  })

  it('fails a look-up at its deadline for all callers, aborts it, and asks again', async () => {
    const { clock, script, resolve, fill } = open({ loadMs: 300 })
    const first = resolve('sk-a')
    clock.advance(200)
    const second = resolve('sk-a')
    const both = Promise.allSettled([first, second])
    clock.advance(100)
    for (const outcome of await both) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringContaining('300 ms') },
      })
    }
    expect(script.asked[0]?.context.signal.aborted).toBe(true)
    const late = script.next()
    expect(await fill('sk-a', good('fresh'))).toEqual(good('fresh'))
    late.answer(good('late'))
    await new Promise(setImmediate)
    expect(await resolve('sk-a')).toEqual(good('fresh'))
  })

  it('leaves no timer after an answer', async () => {
    const { clock, script, fill } = open({ loadMs: 300 })
    await fill('sk-a', good('a'))
    clock.advance(300)
    expect(script.asked[0]?.context.signal.aborted).toBe(false)
  })

  it('never keeps an error, and serves no old answer after one', async () => {
    const { clock, script, resolve, fill } = open()
    await fill('sk-a', good('a'))
    clock.advance(5_001)
    const failing = resolve('sk-a')
    script.next().fail(new Error('down'))
    await expect(failing).rejects.toThrow('down')
    await new Promise(setImmediate)
    expect(await fill('sk-a', good('b'))).toEqual(good('b'))
    expect(script.asked).toHaveLength(3)
  })

  it('turns a synchronous throw into a rejection', async () => {
    const cache = cachedCredentials({
      resolve() {
        throw new Error('broken')
      },
    })
    await expect(Promise.resolve(cache.resolve('sk-a', contextOf()))).rejects.toThrow('broken')
  })

  it('drops only the credential that the watch reports', async () => {
    const { script, fill, resolve } = open()
    await fill('sk-a', good('a'))
    await fill('sk-a-again', good('a'))
    await fill('sk-b', good('b'))
    script.changed('a')
    await resolve('sk-b')
    expect(script.asked).toHaveLength(3)
    expect(await fill('sk-a', { ok: false, reason: 'revoked' })).toEqual({ ok: false, reason: 'revoked' })
    await fill('sk-a-again', { ok: false, reason: 'revoked' })
    expect(script.asked).toHaveLength(5)
  })

  it('drops everything if the watch reports no id', async () => {
    const { script, fill } = open()
    await fill('sk-a', good('a'))
    await fill('sk-b', good('b'))
    script.changed()
    await fill('sk-a', good('a'))
    await fill('sk-b', good('b'))
    expect(script.asked).toHaveLength(4)
  })

  it('drops refusals at any change, so that a new key works immediately', async () => {
    const { script, fill } = open()
    await fill('sk-new', UNKNOWN)
    script.changed('new')
    expect(await fill('sk-new', good('new'))).toEqual(good('new'))
  })

  it('can be invalidated by id or as a whole', async () => {
    const { cache, script, fill, resolve } = open()
    await fill('sk-a', good('a'))
    await fill('sk-b', good('b'))
    cache.invalidate('a')
    await fill('sk-a', good('a'))
    await resolve('sk-b')
    expect(script.asked).toHaveLength(3)
    cache.invalidate()
    await fill('sk-b', good('b'))
    expect(script.asked).toHaveLength(4)
  })

  it('does not keep or share a look-up in progress after an invalidation', async () => {
    const { cache, script, resolve } = open()
    const before = resolve('sk-a')
    cache.invalidate('a')
    const after = resolve('sk-a')
    expect(script.asked).toHaveLength(2)
    script.next().answer(good('a'))
    expect(await before).toEqual(good('a'))
    await new Promise(setImmediate)
    const joined = resolve('sk-a')
    expect(script.asked).toHaveLength(2)
    script.next().answer({ ok: false, reason: 'revoked' })
    expect(await after).toEqual({ ok: false, reason: 'revoked' })
    expect(await joined).toEqual({ ok: false, reason: 'revoked' })
  })

  it("asks the store with the call's own context while the watch is disconnected", async () => {
    const { script, cache, fill, resolve } = open()
    await fill('sk-a', good('a'))
    script.connection(false)
    const context = contextOf()
    const direct = Promise.resolve(cache.resolve('sk-a', context))
    expect(script.asked[1]?.context).toBe(context)
    script.next().answer(good('b'))
    expect(await direct).toEqual(good('b'))
    script.connection(true)
    expect(await fill('sk-a', good('c'))).toEqual(good('c'))
    expect(await resolve('sk-a')).toEqual(good('c'))
    expect(script.asked).toHaveLength(3)
  })

  it('does not keep a look-up that was in progress when the watch was lost', async () => {
    const { script, resolve, fill } = open()
    const before = resolve('sk-a')
    script.connection(false)
    script.next().answer(good('old'))
    await before
    script.connection(true)
    expect(await fill('sk-a', good('new'))).toEqual(good('new'))
  })

  it('notifies its own watchers after it has dropped the entries', async () => {
    const { cache, script, fill } = open()
    await fill('sk-a', good('a'))
    const heard: unknown[] = []
    const hear = (what: unknown) => {
      void Promise.resolve(cache.resolve('sk-a', contextOf())).catch(() => {})
      heard.push(what, script.pending)
    }
    const end = cache.watch(hear, hear)
    script.changed('a')
    script.next().answer(good('a'))
    await cache.resolve('sk-a', contextOf())
    script.connection(true)
    expect(heard).toEqual(['a', 1, true, 1])
    end()
    script.changed('a')
    expect(heard).toHaveLength(4)
  })

  it('calls every watcher even if one throws', () => {
    const { cache } = open()
    const heard: unknown[] = []
    cache.watch(() => {
      throw new Error('mine')
    })
    cache.watch((id) => heard.push(id))
    expect(() => cache.invalidate('a')).toThrow('mine')
    expect(heard).toEqual(['a'])
  })

  it('ends its watch when closed, and caches nothing afterwards', async () => {
    const { cache, script, fill } = open()
    await fill('sk-a', good('a'))
    expect(script.watchers).toBe(1)
    cache.close()
    expect(script.watchers).toBe(0)
    await fill('sk-a', good('a'))
    await fill('sk-a', good('a'))
    expect(script.asked).toHaveLength(3)
  })

  it('refuses a watch that does not return a function to end it', () => {
    const watch = async () => () => {}
    const store = { resolve: () => good('a'), watch: watch as unknown as Watch }
    expect(() => cachedCredentials(store)).toThrow('watch of a cache')
  })

  it('works over a store without a watch', async () => {
    let asked = 0
    const cache = cachedCredentials({
      resolve() {
        asked++
        return good('a')
      },
    })
    await cache.resolve('sk-a', contextOf())
    expect(cache.resolve('sk-a', contextOf())).toEqual(good('a'))
    cache.invalidate('a')
    await cache.resolve('sk-a', contextOf())
    expect(asked).toBe(2)
  })

  it('preserves `this` for a store that is a class', async () => {
    class Store {
      readonly #result = good('a')
      readonly heard = new Set<() => void>()
      resolve(): CredentialResult {
        return this.#result
      }
      watch(changed: () => void): () => void {
        this.heard.add(changed)
        return () => {}
      }
    }
    const store = new Store()
    const cache = cachedCredentials(store)
    expect(await cache.resolve('sk-a', contextOf())).toEqual(good('a'))
    expect(store.heard.size).toBe(1)
  })

  it('returns frozen copies', async () => {
    const { fill } = open()
    const scopes = ['models.run']
    const markup = { basisPoints: 0 }
    const app = { id: 'app', markup, allowedModels: ['acme/fast'] }
    const result = {
      ok: true,
      principal: { kind: 'access-token', credentialId: 'a', account: 'alice', app, scopes },
    } as const
    const kept = await fill('at-a', result)
    scopes.push('more')
    markup.basisPoints = 5
    expect(kept).toMatchObject({ principal: { scopes: ['models.run'], app: { markup: { basisPoints: 0 } } } })
    expect(kept.ok && Object.isFrozen(kept.principal)).toBe(true)
    expect(kept.ok && kept.principal.kind === 'access-token' && Object.isFrozen(kept.principal.scopes)).toBe(
      true,
    )
  })

  it('returns a faulty answer but does not cache it', async () => {
    const { script, fill } = open()
    const faulty = { ok: true } as CredentialResult
    expect(await fill('sk-a', faulty)).toEqual(faulty)
    await new Promise(setImmediate)
    await fill('sk-a', good('a'))
    expect(script.asked).toHaveLength(2)
  })

  it('holds digests, never tokens', async () => {
    const { cache, fill } = open()
    await fill('sk-very-secret', good('a'))
    expect(inspect(cache, { depth: 20, showHidden: true })).not.toContain('sk-very-secret')
    expect(hash('sha256', 'sk-very-secret')).toHaveLength(64)
  })

  it.each([
    ['ttlMs', 0],
    ['ttlMs', 1.5],
    ['maxEntries', -1],
    ['loadMs', Number.NaN],
  ])('refuses the option %s: %s', (name, value) => {
    expect(() => cachedCredentials({ resolve: () => UNKNOWN }, { [name]: value })).toThrow(
      expect.objectContaining({
        field: name,
        code: 'invalid_option',
        message: expect.stringMatching(/^cachedCredentials: .*; got /),
      }),
    )
  })
})
