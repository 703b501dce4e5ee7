import { beforeEach, describe, expect, it } from 'vitest'
import { type Admin, type AuditQuery, createAdmin } from '../../src/admin/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createFacts, createHold, createSettle } from '../helpers/ledger-requests.js'

const secretKeys = [{ id: 'one', key: '07'.repeat(32) }]
const MODEL = { id: 'acme/fast', prices: { input: '1', output: '2' } }
const ROUTE = {
  id: 'fast',
  model: 'acme/fast',
  provider: 'openai',
  adapter: 'openai',
  upstreamModel: 'gpt-4o-mini',
}
const BUDGET = { id: 'b', unit: 'credits', per: 'month', of: 'account', ownerId: 'alice' } as const

describe.each(engineNames)('the audit log on %s', (name) => {
  const engine = useEngine(name)
  let stores: DurableStores
  let admin: Admin
  let anna: Admin
  let count = 0

  beforeEach(() => {
    stores = engine.open(`audit${count++}`, { secretKeys })
    admin = createAdmin(stores)
    anna = admin.as({ kind: 'operator', name: 'anna' })
  })

  /** The changes, oldest first, each as `who noun verb id`. */
  async function changes(query?: AuditQuery): Promise<readonly string[]> {
    const rows = await admin.audit.list(query)
    return rows.map(({ by, noun, kind, subjectId }) => `${by}: ${noun} ${kind} ${subjectId}`).reverse()
  }

  it('names who changed credits, and of which account', async () => {
    const credit = await anna.accounts.credit({ account: 'alice', amount: '5', reference: 'r', memo: 'cash' })
    await admin.accounts.credit({ account: 'alice', amount: '5', reference: 'r', memo: 'cash' })
    const correction = await admin.accounts.correct({ account: 'alice', amount: '-1.5' })
    expect(await changes()).toEqual([
      `anna: entry credited ${credit.id}`,
      `operator: entry corrected ${correction.id}`,
    ])
    const rows = await admin.audit.list({ account: 'alice' })
    expect(rows.map(({ details }) => details)).toEqual([{ amount: '-1.5' }, { amount: '5', memo: 'cash' }])
    expect(rows[1]).toMatchObject({ byKind: 'operator', at: expect.any(Number), account: 'alice' })
  })

  it('names who refunded a charge, once for each posting', async () => {
    await admin.accounts.credit({ account: 'alice', amount: '5' })
    const hold = createHold('alice', 10n)
    await stores.ledger.hold(hold, context)
    await stores.ledger.settle(
      createSettle(hold.holdId, 'alice', 10n, { facts: createFacts('alice') }),
      context,
    )
    const [charge] = (await admin.entries.list({ account: 'alice' })).entries
    const refund = await anna.entries.refund(charge!.id, '0.000000004', { reference: 'x' })
    await admin.entries.refund(charge!.id, '0.000000004', { reference: 'x' })
    const [row, ...others] = await admin.audit.list({ noun: 'entry', by: 'anna' })
    expect(others).toEqual([])
    expect(row).toMatchObject({
      by: 'anna',
      kind: 'refunded',
      subjectId: refund.id,
      account: 'alice',
      details: { of: charge!.id, amount: '0.000000004' },
    })
  })

  it('names who issued, reissued and revoked a key, and never shows a token', async () => {
    const user = admin.as({ kind: 'account', name: 'alice' })
    const limits = [{ unit: 'credits', amount: '5', per: 'month' }] as const
    const { credentialId: id, token } = await user.keys.issue({
      account: 'alice',
      label: 'laptop',
      metadata: { team: 'red' },
      limits,
    })
    const { token: second } = await anna.keys.reissue(id)
    await anna.keys.revoke(id, { account: 'alice' })
    await admin.keys.revoke(id)
    expect(await changes({ subjectId: id })).toEqual([
      `alice: credential issued ${id}`,
      `anna: credential reissued ${id}`,
      `alice: credential revoked ${id}`,
    ])
    const rows = await admin.audit.list({ noun: 'credential', account: 'alice' })
    expect(rows.map(({ byKind }) => byKind)).toEqual(['account', 'operator', 'account'])
    expect(rows[2]!.details).toEqual({ kind: 'api-key', label: 'laptop', limits })
    const text = JSON.stringify(rows)
    for (const secret of [token, second]) expect(text).not.toContain(secret)
  })

  it('has no line for a key that was refused or a repeated suspension', async () => {
    const few = createAdmin(stores, { keysPerAccount: 1 })
    await few.keys.issue({ account: 'alice' })
    await expect(few.keys.issue({ account: 'alice' })).rejects.toThrow('the most that are allowed')
    await admin.accounts.open('alice')
    await admin.accounts.resume('alice')
    await anna.accounts.suspend('alice')
    await admin.accounts.suspend('alice')
    await admin.accounts.resume('alice')
    await admin.accounts.suspend('nobody')
    expect((await changes()).slice(1)).toEqual([
      'anna: account suspended alice',
      'operator: account resumed alice',
    ])
  })

  it('names who changed a model and a route, with the values before and after', async () => {
    await admin.models.put(MODEL)
    await admin.models.put(MODEL)
    await admin.models.put(MODEL, { ifAbsent: true })
    await anna.models.put({ ...MODEL, name: 'Fast', prices: { input: '3', output: '2' } })
    await admin.routes.put({ ...ROUTE, secret: 'sk-provider-secret' })
    await admin.routes.put(ROUTE)
    await anna.routes.put({ ...ROUTE, upstreamModel: 'gpt-4o', secret: null })
    await anna.routes.remove('fast')
    await admin.models.remove(MODEL.id)
    await admin.models.remove(MODEL.id)
    expect(await changes()).toEqual([
      'operator: model put acme/fast',
      'anna: model put acme/fast',
      'operator: route put fast',
      'anna: route put fast',
      'anna: route removed fast',
      'operator: model removed acme/fast',
    ])
    const details = (await admin.audit.list()).map((row) => row.details).reverse()
    expect(details[1]).toEqual({
      before: { prices: MODEL.prices },
      after: { name: 'Fast', prices: { input: '3', output: '2' } },
    })
    expect(details[2]).toMatchObject({ after: { model: 'acme/fast', provider: 'openai' }, secret: 'given' })
    expect(details[3]).toEqual({
      before: { upstreamModel: 'gpt-4o-mini' },
      after: { upstreamModel: 'gpt-4o' },
      secret: 'removed',
    })
    expect(JSON.stringify(details)).not.toContain('sk-provider-secret')
  })

  it('names who changed a limit, and has no line for a put that changes nothing or is refused', async () => {
    await admin.accounts.open('alice')
    const { credentialId } = await admin.keys.issue({ account: 'alice' })
    await anna.limits.put({ ...BUDGET, amount: '5' })
    await admin.limits.put({ ...BUDGET, amount: '5' })
    await admin.limits.put({ ...BUDGET, amount: '6' })
    const ofKey = { ...BUDGET, of: 'credential', ownerId: credentialId } as const
    await expect(admin.limits.put({ ...ofKey, amount: '7' })).rejects.toThrow('Another owner')
    await admin.limits.put({ ...ofKey, id: 'k', amount: '7' })
    await anna.limits.remove('k')
    await anna.limits.remove('k')
    expect(await changes({ noun: 'limit' })).toEqual([
      'anna: limit put b',
      'operator: limit put b',
      'operator: limit put k',
      'anna: limit removed k',
    ])
    const rows = await admin.audit.list({ noun: 'limit' })
    expect(rows.map(({ account }) => account)).toEqual(Array(4).fill('alice'))
    expect(rows[2]!.details).toEqual({ ...BUDGET, amount: '6' })
  })

  it('shows the changes of apps among the others, in pages', async () => {
    const app = { id: 'notes', markup: { basisPoints: 1 }, allowedModels: [] }
    await anna.apps.put(app)
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    await anna.apps.suspend('notes')
    await admin.apps.remove('notes')
    const whole = await admin.audit.list()
    expect(whole.map(({ by, noun, kind }) => `${by}: ${noun} ${kind}`)).toEqual([
      'operator: app removed',
      'anna: app suspended',
      'operator: entry credited',
      'anna: app put',
    ])
    const pages: unknown[] = []
    for (let after: string | undefined; ; ) {
      const [row] = await admin.audit.list({ limit: 1, ...(after !== undefined && { after }) })
      if (row === undefined) break
      pages.push(row)
      after = row.id
    }
    expect(pages).toEqual(whole)
    expect(await changes({ noun: 'app', by: 'anna' })).toEqual([
      'anna: app put notes',
      'anna: app suspended notes',
    ])
    const from = whole[1]!.at
    expect(await admin.audit.list({ from })).toEqual(whole.filter(({ at }) => at >= from))
    expect(await admin.audit.list({ to: from })).toEqual(whole.filter(({ at }) => at < from))
  })

  it('names an actor in the histories of apps and of connected apps, too', async () => {
    await anna.apps.put({ id: 'notes', markup: { basisPoints: 1 }, allowedModels: [] })
    expect(await admin.apps.listEdits({ appId: 'notes' })).toMatchObject([
      { by: 'anna', byKind: 'operator', kind: 'put' },
    ])
    expect(() => admin.as({ kind: 'app' as never, name: 'anna' })).toThrow('actor.kind')
    expect(() => admin.as({ kind: 'operator', name: '' })).toThrow('actor.name')
  })
})
