import { strict as assert } from 'node:assert'
import type { App, Awaitable, CredentialResult, CredentialStore, Principal } from '../contracts/index.js'
import {
  asOpened,
  type CaseNeed,
  type ConformanceCase,
  checkAnswer,
  createContext,
  isObject,
  listenTo,
  type Opened,
} from './base/case.js'

export interface OpenedCredentials extends Opened<CredentialStore> {
  /** Revokes every token with this credential id. */
  revoke?(credentialId: string): Awaitable<unknown>
}

/** Opens your credential store for the cases. */
export interface CredentialHarness {
  /** Opens a store with these tokens and no others. */
  open(tokens: Readonly<Record<string, Principal>>): Awaitable<CredentialStore | OpenedCredentials>
}

export type CredentialCase = ConformanceCase<CredentialHarness>

const app: App = {
  id: 'app-1',
  name: 'An app',
  markup: { basisPoints: 2_000, flat: '0.000000001' },
  allowedModels: ['acme/fast', 'acme/slow:free'],
  account: 'app-owner',
}

const FAR_MS = 4_102_444_800_000

const tokens = {
  'sk-alice-1': { kind: 'api-key', credentialId: 'key-1', account: 'alice', metadata: { plan: 'gold' } },
  'sk-alice-2': {
    kind: 'api-key',
    credentialId: 'key-2',
    account: 'alice',
    allowedModels: ['acme/fast', 'acme/slow:free'],
  },
  'SK-alice-1': { kind: 'api-key', credentialId: 'key-3', account: 'bob' },
  'at.bob+1/2=': {
    kind: 'access-token',
    credentialId: 'grant-1',
    account: 'bob',
    expiresAt: FAR_MS,
    app,
    scopes: ['models.run', 'profile'],
  },
  'at-refreshed': { kind: 'access-token', credentialId: 'grant-1', account: 'bob', app, scopes: [] },
  'sk-old': { kind: 'api-key', credentialId: 'key-4', account: 'alice', expiresAt: 1_000_000_000_000 },
} as const satisfies Readonly<Record<string, Principal>>

/** The requirements for every credential store. */
export const credentialCases: readonly CredentialCase[] = Object.freeze([
  credentialCase(
    'credential-found',
    'a token resolves to its principal, with all its fields',
    async (bench) => {
      for (const [token, principal] of Object.entries(tokens)) {
        if (token !== 'sk-old') assertPrincipal(await bench.resolve(token), principal)
      }
    },
  ),
  credentialCase('credential-unknown', 'an unknown token is refused without a throw', async (bench) => {
    const unknown = ['sk-nobody', 'sk-alice-', 'sk-alice-11', 'key-1', 'alice', '%', '_', "' OR 1=1 --", '*']
    for (const token of unknown) assertRefused(await bench.resolve(token), 'unknown')
  }),
  credentialCase('credential-case', 'tokens are case-sensitive', async (bench) => {
    assertPrincipal(await bench.resolve('SK-alice-1'), tokens['SK-alice-1'])
    assertRefused(await bench.resolve('SK-ALICE-1'), 'unknown')
  }),
  credentialCase(
    'credential-prototype-names',
    'tokens such as __proto__ and constructor are unknown',
    async (bench) => {
      for (const token of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
        assertRefused(await bench.resolve(token), 'unknown')
      }
    },
  ),
  credentialCase('credential-long', 'a token of 8,192 characters is compared as a whole', async (bench) => {
    assertRefused(await bench.resolve(`sk-alice-1${'x'.repeat(8_182)}`), 'unknown')
  }),
  credentialCase(
    'credential-expired',
    'an expired token is refused as expired, or resolves with the time it expired',
    async (bench) => {
      const result = await bench.resolve('sk-old')
      if (result.ok) assert.equal(result.principal.expiresAt, tokens['sk-old'].expiresAt)
      else assertRefused(result, 'expired', tokens['sk-old'])
    },
  ),
  credentialCase('credential-id-hides-token', 'a credential id does not contain the token', async (bench) => {
    for (const token of Object.keys(tokens)) {
      const result = await bench.resolve(token)
      if (result.ok) assert.ok(!result.principal.credentialId.includes(token))
    }
  }),
  credentialCase('credential-copied', 'changes to a result do not affect the next one', async (bench) => {
    const first = await bench.resolve('at.bob+1/2=')
    assert.ok(first.ok && first.principal.kind === 'access-token')
    Reflect.set(first.principal, 'account', 'mallory')
    Reflect.set(first.principal.scopes, '0', 'everything')
    Reflect.set(first.principal.app.markup, 'basisPoints', 0)
    assertPrincipal(await bench.resolve('at.bob+1/2='), tokens['at.bob+1/2='])
  }),
  credentialCase('credential-parallel', 'concurrent look-ups do not affect each other', async (bench) => {
    const names = ['sk-alice-1', 'sk-alice-2', 'at.bob+1/2=', 'SK-alice-1'] as const
    const asked = Array.from({ length: 100 }, (_, number) => names[number % names.length]!)
    const results = await Promise.all(asked.map((token) => bench.resolve(token)))
    for (const [number, result] of results.entries()) assertPrincipal(result, tokens[asked[number]!])
  }),
  credentialCase(
    'credential-revoked',
    'revoking a credential refuses all its tokens at once, and no others',
    async (bench) => {
      await bench.revoke('grant-1')
      assertRefused(await bench.resolve('at.bob+1/2='), 'revoked', tokens['at.bob+1/2='])
      assertRefused(await bench.resolve('at-refreshed'), 'revoked', tokens['at-refreshed'])
      assertPrincipal(await bench.resolve('SK-alice-1'), tokens['SK-alice-1'])
    },
    ['revoke'],
  ),
  credentialCase(
    'credential-watch',
    'a revocation is reported by credential id, until the watch ends',
    async (bench) => {
      assert.ok(bench.store.watch, 'this case needs a store with `watch`')
      const watch = bench.store.watch.bind(bench.store)
      const [short, long] = [listenTo(watch), listenTo(watch)]
      const first = await short.next(() => bench.revoke('key-1'))
      assert.ok(
        first.every((id) => id === 'key-1' || id === undefined),
        `the watch must report key-1 or everything; got ${first.join()}`,
      )
      short.end()
      const reported = short.heard.length
      await long.next(() => bench.revoke('key-2'))
      long.end()
      assert.equal(short.heard.length, reported, 'an ended watch reported another change')
      assertRefused(await bench.resolve('sk-alice-1'), 'revoked', tokens['sk-alice-1'])
    },
    ['revoke', 'watch'],
  ),
])

interface CredentialBench {
  readonly store: CredentialStore
  resolve(token: string): Promise<CredentialResult>
  revoke(credentialId: string): Promise<void>
}

function credentialCase(
  id: string,
  name: string,
  check: (bench: CredentialBench) => Promise<void>,
  needs: readonly CaseNeed[] = [],
): CredentialCase {
  return {
    id,
    name,
    needs,
    async run(harness) {
      const opened = asOpened<CredentialStore, OpenedCredentials>(
        // A copy, so that a store that keeps it cannot change the expected values.
        await harness.open(structuredClone(tokens)),
        'resolve',
      )
      const { store } = opened
      try {
        await check({
          store,
          async resolve(token) {
            const result = await store.resolve(token, createContext())
            const isResult = isObject(result) && (result.ok ? isObject(result.principal) : 'reason' in result)
            checkAnswer('resolve', result, isResult, '{ ok: true, principal }, or { ok: false, reason }')
            return result
          },
          async revoke(credentialId) {
            assert.ok(opened.revoke, 'this case needs `open` to return { store, revoke }')
            await opened.revoke(credentialId)
          },
        })
      } finally {
        await opened.close?.()
      }
    },
  }
}

/** A refusal may omit the owner. If it names one, it must be the right one. An unknown token has no owner. */
function assertRefused(result: CredentialResult, reason: string, holder?: Principal): void {
  assert.equal(result.ok ? 'granted' : result.reason, reason)
  if (result.ok || result.credential === undefined) return
  assert.ok(holder, 'an unknown token has no holder')
  const { credentialId, account } = holder
  const app = holder.kind === 'access-token' ? { appId: holder.app.id } : {}
  assert.deepEqual(
    { credential: plain(result.credential) },
    { credential: { credentialId, account, ...app } },
  )
}

function assertPrincipal(result: CredentialResult, expected: Principal): void {
  assert.ok(result.ok, 'the token must be known')
  assert.deepEqual(plain(result.principal), plain(expected))
}

/** Omits undefined members. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
