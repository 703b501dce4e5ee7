import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { createToken, digestToken, mayBeIssued } from '../../src/base/tokens.js'
import { createSqlCredentials } from '../../src/sql/credentials.js'
import type { SqlDatabase, Statement } from '../../src/sql/database.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context } from '../helpers/ledger-requests.js'

const UNKNOWN = { ok: false, reason: 'unknown' }

/** A token's random part, without its checksum. */
const bareToken = (prefix = 'sk-cr-') => prefix + randomBytes(32).toString('base64url')

describe('a router token', () => {
  it.each(['api-key', 'access-token'] as const)(
    'of kind %s has a checksum that any changed character breaks',
    (kind) => {
      const token = createToken(kind)
      expect(token).toMatch(/^(?:sk|at)-cr-[\w-]{43}[0-9A-Za-z]{6}$/)
      expect(mayBeIssued(token)).toBe(true)
      for (let at = 0; at < token.length; at++) {
        const changed = token.slice(0, at) + (token[at] === 'x' ? 'y' : 'x') + token.slice(at + 1)
        expect(mayBeIssued(changed), changed).toBe(false)
      }
      for (let length = 0; length < token.length; length++) {
        expect(mayBeIssued(token.slice(0, length))).toBe(false)
      }
      expect(mayBeIssued(`${token}0`)).toBe(false)
    },
  )

  it('has the checksum that other programs compute', () => {
    expect(mayBeIssued(`sk-cr-${'A'.repeat(43)}3rdLh9`)).toBe(true)
    expect(mayBeIssued(`at-cr-${'A'.repeat(43)}3rdLh9`)).toBe(false)
  })
})

describe.each(engineNames)('look-ups in %s', (name) => {
  const engine = useEngine(name)

  /** Creates a store that records its statements. */
  function counting(database: SqlDatabase, otherTokens = false) {
    const statements: Statement[] = []
    const store = createSqlCredentials(
      {
        ...database,
        all(statement) {
          statements.push(statement)
          return database.all(statement)
        },
      },
      otherTokens,
    )
    return { statements, store }
  }

  async function replaceToken(database: SqlDatabase, from: string, to: string): Promise<void> {
    await database.all({
      text: 'update {tokens} set digest = ?1 where digest = ?2',
      parameters: [digestToken(to), digestToken(from)],
    })
  }

  it('run no statement for a token that the router cannot have issued', async () => {
    const { statements, store } = counting(engine.open('garbage').database)
    const garbage = [
      'sk-proj-abc',
      'ghp_0123',
      bareToken(),
      bareToken().slice(1),
      `${bareToken()}AAAAAA`,
      bareToken('xx-cr-'),
      '',
    ]
    for (const token of garbage) expect(store.resolve(token, context)).toEqual(UNKNOWN)
    expect(statements).toEqual([])
  })

  it("find a host's own tokens only with otherTokens", async () => {
    const stores = engine.open('own')
    const { token } = await createAdmin(stores).keys.issue({ account: 'alice' })
    await replaceToken(stores.database, token, 'team-7')
    expect(await stores.credentials.resolve('team-7', context)).toEqual(UNKNOWN)
    const other = engine.open('own', { otherTokens: true })
    expect(await other.credentials.resolve('team-7', context)).toMatchObject({ ok: true })
    expect(() => engine.open('own', { otherTokens: 'yes' as unknown as boolean })).toThrow(
      /otherTokens must be true or false; got/,
    )
  })

  it('that are concurrent share a statement, and each gets its own answer', async () => {
    const stores = engine.open('together')
    const admin = createAdmin(stores)
    const issued = await Promise.all(['a', 'b', 'c'].map((account) => admin.keys.issue({ account })))
    const { statements, store } = counting(stores.database)
    const strangers = Array.from({ length: 200 }, () => createToken('api-key'))
    const tokens = [...strangers, ...issued.map(({ token }) => token), issued[0]!.token]
    const answers = await Promise.all(tokens.map((token) => store.resolve(token, context)))
    expect(answers.slice(0, 200)).toEqual(strangers.map(() => UNKNOWN))
    expect(answers.slice(200)).toMatchObject(
      ['a', 'b', 'c', 'a'].map((account) => ({ ok: true, principal: { account } })),
    )
    expect(statements).toHaveLength(1)
  })

  it('of aborted callers are skipped', async () => {
    const { statements, store } = counting(engine.open('gone').database)
    const leaving = new AbortController()
    const gone = Promise.resolve(
      store.resolve(createToken('api-key'), { requestId: 'r', signal: leaving.signal }),
    )
    leaving.abort(new Error('left'))
    await expect(gone).rejects.toThrow('left')
    expect(statements).toEqual([])
  })

  it('fail together with their database, but an unreadable row fails alone', async () => {
    const stores = engine.open('faults')
    const admin = createAdmin(stores)
    const [good, bad] = await Promise.all([
      admin.keys.issue({ account: 'alice' }),
      admin.keys.issue({ account: 'bob', metadata: { a: 'b' } }),
    ])
    await stores.database.all({
      text: "update {credentials} set metadata = '{' where id = ?1",
      parameters: [bad.credentialId],
    })
    const [found, failed] = await Promise.allSettled(
      [good, bad].map(async ({ token }) => stores.credentials.resolve(token, context)),
    )
    expect(found).toMatchObject({ status: 'fulfilled', value: { ok: true } })
    expect(failed).toMatchObject({ status: 'rejected' })
    const store = createSqlCredentials(
      { ...stores.database, all: () => Promise.reject(new Error('gone')) },
      false,
    )
    await expect(store.resolve(good.token, context)).rejects.toThrow('gone')
  })
})
