import { describe, expect, test, vi } from 'vitest'
import {
  cachedCredentials,
  firstCredentials,
  introspectionCredentials,
  jwtCredentials,
  memoryCredentials,
} from '../../src/index.js'
import { createSqlCredentials } from '../../src/sql/credentials.js'
import type { CredentialResult, CredentialStore } from '../../src/stores.js'

const CONTEXT = { requestId: 'one', signal: new AbortController().signal }
const UNKNOWN: CredentialResult = { ok: false, reason: 'unknown' }

function scripted(recognises?: (token: string) => boolean) {
  const asked: string[] = []
  const watchers: Parameters<NonNullable<CredentialStore['watch']>>[] = []
  const store: CredentialStore = {
    resolve(token) {
      asked.push(token)
      return UNKNOWN
    },
    ...(recognises && { recognises }),
    watch(...watcher) {
      watchers.push(watcher)
      return () => watchers.splice(watchers.indexOf(watcher), 1)
    },
  }
  return { asked, store, watchers }
}

const begins = (prefix: string) => (token: string) => token.startsWith(prefix)

describe('firstCredentials', () => {
  test('asks the first store that recognises a token, and no other', async () => {
    const [a, b, rest] = [scripted(begins('a')), scripted(begins('ab')), scripted()]
    const store = firstCredentials([a.store, b.store, rest.store])
    for (const token of ['abc', 'b']) expect(await store.resolve(token, CONTEXT)).toEqual(UNKNOWN)
    expect([a.asked, b.asked, rest.asked]).toEqual([['abc'], [], ['b']])
    expect(store.recognises?.('zzz')).toBe(true)
  })

  test('recognises no token that no store recognises', async () => {
    const a = scripted(begins('a'))
    const store = firstCredentials([a.store])
    expect(await store.resolve('b', CONTEXT)).toEqual(UNKNOWN)
    expect([a.asked, store.recognises?.('b')]).toEqual([[], false])
  })

  test('passes on the changes of all stores, and is connected only if all are', () => {
    const [a, b] = [scripted(begins('a')), scripted()]
    const silent: CredentialStore = { resolve: () => UNKNOWN, recognises: begins('s') }
    const store = firstCredentials([a.store, silent, b.store])
    const [changed, connection] = [vi.fn(), vi.fn()]
    const end = store.watch!(changed, connection)
    a.watchers[0]![0]('one')
    b.watchers[0]![0]()
    expect(changed.mock.calls).toEqual([['one'], []])
    a.watchers[0]![1]?.(false)
    b.watchers[0]![1]?.(false)
    a.watchers[0]![1]?.(true)
    b.watchers[0]![1]?.(true)
    expect(connection.mock.calls).toEqual([[false], [false], [false], [true]])
    end()
    expect([a.watchers, b.watchers]).toEqual([[], []])
  })

  test('has no watch if no store has one', () => {
    expect(firstCredentials([{ resolve: () => UNKNOWN }]).watch).toBeUndefined()
  })

  test.each([
    [[], 'a list of credential stores'],
    [undefined, 'a list of credential stores'],
    [[{}], 'stores.0 has no method resolve'],
    [[memoryCredentials(), memoryCredentials()], 'stores.0 has no method recognises'],
  ])('refuses the options %o', (stores, says) => {
    expect(() => firstCredentials(stores as never)).toThrow(says)
  })
})

describe('a credential store recognises its own tokens', () => {
  const principal = () => undefined
  const audience = 'https://api.example'
  const jwt = jwtCredentials({
    issuer: 'https://id.example',
    audience,
    jwks: 'https://id.example/keys',
    principal,
  })
  const opaque = introspectionCredentials({
    endpoint: 'https://id.example/introspect',
    auth: { clientId: 'a', clientSecret: 'b' },
    audience,
    principal,
  })
  const sql = createSqlCredentials({} as never, false)
  const OWN = 'sk-cr-PZtdNbDqUqZf_1aKqoXhp43Bt6Q2b5Ih8j0VLwDkM7c1QeOVT'

  test.each([
    ['eyJh.eyJi.c2ln', [true, true, false]],
    ['eyJh.eyJi.', [true, true, false]],
    ['opaque-1', [false, true, false]],
    [OWN, [false, false, true]],
  ])('%s', (token, expected) => {
    expect([jwt, opaque, sql].map((store) => store.recognises?.(token))).toEqual(expected)
  })

  test('even behind a cache', () => {
    const cached = cachedCredentials(jwt)
    expect([cached.recognises?.('eyJh.eyJi.c2ln'), cached.recognises?.('opaque-1')]).toEqual([true, false])
    expect(cachedCredentials(memoryCredentials()).recognises).toBeUndefined()
  })

  test('unless a database contains tokens of the host', () => {
    expect(createSqlCredentials({} as never, true).recognises).toBeUndefined()
  })
})
