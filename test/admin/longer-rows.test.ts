import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'

/** More than a list may have that is written now. */
const LONG = Array.from({ length: 5_000 }, (_, index) => `acme/model-${index}`)
const METADATA = { note: 'x'.repeat(100_000) }
const NOTES = { id: 'notes', markup: { basisPoints: 0 }, allowedModels: LONG.slice(0, 1) }

describe.each(engineNames)('a stored row with a list longer than now allowed, on %s', (name) => {
  const engine = useEngine(name)
  let stores: DurableStores
  let admin: Admin

  beforeAll(async () => {
    stores = engine.open('longer_rows')
    admin = createAdmin(stores)
    await admin.accounts.open('alice')
    await admin.apps.put(NOTES)
    await stores.database.all({
      text: 'update {apps} set definition = ?1',
      parameters: [JSON.stringify({ ...NOTES, allowedModels: LONG })],
    })
  })

  const principalOf = async (token: string) => {
    const found = await stores.credentials.resolve(token, {
      requestId: 'r',
      signal: new AbortController().signal,
    })
    return found.ok ? found.principal : found.reason
  }

  it('of a key still authenticates, is listed, and can be replaced and revoked', async () => {
    const { credentialId, token } = await admin.keys.issue({ account: 'alice', allowedModels: [] })
    await stores.database.all({
      text: 'update {credentials} set allowed_models = ?2, metadata = ?3 where id = ?1',
      parameters: [credentialId, JSON.stringify(LONG), JSON.stringify(METADATA)],
    })
    const listed = { credentialId, allowedModels: LONG }
    const whole = { ...listed, metadata: METADATA }
    expect(await principalOf(token)).toMatchObject(whole)
    expect(await admin.keys.list({ credentialId })).toMatchObject([listed])
    expect(await admin.keys.list({ account: 'alice', limit: 1 })).toMatchObject([listed])
    const next = await admin.keys.reissue(credentialId)
    expect(await principalOf(next.token)).toMatchObject(whole)
    expect(await admin.keys.revoke(credentialId)).toBe(true)
    expect(await principalOf(next.token)).toBe('revoked')
  })

  it('of an app still issues tokens, is listed, and can be suspended, shortened and removed', async () => {
    const grant = { account: 'alice', appId: 'notes', scopes: ['models.run'] }
    const { token } = await admin.keys.issueToken(grant)
    expect(await principalOf(token)).toMatchObject({ app: { id: 'notes', allowedModels: LONG } })
    const [row] = await admin.apps.list()
    expect(row).toMatchObject({ id: 'notes', allowedModels: LONG })
    expect(await admin.apps.suspend('notes')).toBe(true)
    expect(await admin.apps.resume('notes')).toBe(true)
    await expect(admin.apps.put({ ...NOTES, allowedModels: LONG })).rejects.toThrow('allowedModels')
    expect(await admin.apps.put(NOTES, { was: row! })).toBe(true)
    expect(await principalOf(token)).toMatchObject({ app: { allowedModels: NOTES.allowedModels } })
    expect(await admin.apps.remove('notes')).toBe(true)
  })
})
