import { describe, expect, it, onTestFinished } from 'vitest'
import { type AppRequest, createAdmin } from '../../src/admin/index.js'
import { createToken } from '../../src/base/tokens.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context } from '../helpers/ledger-requests.js'
import { pngOf } from '../helpers/pictures.js'

const notes: AppRequest = {
  id: 'notes',
  name: 'Notes',
  markup: { basisPoints: 2_000, flat: '0.001' },
  allowedModels: ['acme/fast'],
  account: 'notes-inc',
  redirectUris: ['https://notes.example/cb', 'http://127.0.0.1/cb'],
  site: 'https://notes.example',
  suggestedCap: '5',
}
const own = {
  id: 'mine',
  name: 'Mine',
  markup: { basisPoints: 100 },
  allowedModels: ['acme/fast'],
  redirectUris: ['https://mine.example/cb'],
}

describe.each(engineNames)('apps in %s', (name) => {
  const engine = useEngine(name)
  let count = 0
  function open(rules = {}) {
    const stores = engine.open(`apps_${count++}`)
    onTestFinished(() => stores.close())
    return { stores, admin: createAdmin(stores, { apps: rules }) }
  }

  it('are listed as stored, and Connect finds them', async () => {
    const { stores, admin } = open()
    const app: AppRequest = { ...notes, owner: 'olga', state: 'test', testers: ['tina'] }
    await admin.apps.put(app)
    expect(await admin.apps.list()).toEqual([app])
    expect(await admin.apps.list({ owner: 'olga' })).toEqual([app])
    expect(await admin.apps.list({ owner: 'else' })).toEqual([])
    const { account: _, ...shown } = app
    expect(await stores.connect.findApp('notes')).toEqual({ ...shown, suspended: false })
    await admin.apps.put(notes)
    expect(await admin.apps.list()).toEqual([notes])
    expect(await stores.connect.findApp('notes')).toMatchObject({ state: 'live', testers: [] })
  })

  it('stay suspended if their owner or the operator removes them and registers the id again', async () => {
    const { stores, admin } = open()
    const isSuspended = async () => (await stores.connect.findApp('mine'))?.suspended
    await admin.userApps.put('olga', own)
    await admin.apps.suspend('mine')
    await admin.userApps.remove('olga', 'mine')
    expect(await isSuspended()).toBeUndefined()
    await admin.userApps.put('olga', own)
    expect(await isSuspended()).toBe(true)
    await admin.apps.remove('mine')
    await admin.apps.put({ ...own, owner: 'olga' })
    expect(await isSuspended()).toBe(true)
    await admin.apps.resume('mine')
    await admin.apps.remove('mine')
    await admin.apps.put({ ...own, owner: 'olga' })
    expect(await isSuspended()).toBe(false)
  })

  it('that an operator owns do not pass to an account named "operator"', async () => {
    const { admin } = open()
    await admin.apps.put(own)
    await admin.apps.remove('mine')
    await expect(admin.userApps.put('operator', own)).rejects.toThrow('its id is taken')
    await admin.userApps.put('operator', { ...own, id: 'its', name: 'Its' })
    expect((await admin.apps.listEdits({ appId: 'its' })).map(({ by, byKind }) => [by, byKind])).toEqual([
      ['operator', 'account'],
    ])
    expect((await admin.apps.listEdits({ appId: 'mine' })).map(({ by, byKind }) => [by, byKind])).toEqual([
      ['operator', 'operator'],
      ['operator', 'operator'],
    ])
  })

  it('in test mode issue tokens only to their owner and testers', async () => {
    const { admin } = open()
    await admin.userApps.put('olga', { ...own, testers: ['tina'] })
    const issue = (account: string) =>
      admin.keys.issueToken({ account, appId: 'mine', scopes: ['models.run'] })
    for (const account of ['olga', 'tina']) expect((await issue(account)).token).toMatch(/^at-cr-/)
    await expect(issue('eve')).rejects.toMatchObject({ reason: 'not-found' })
  })

  it('with an owner fix their terms in every token that anybody issues, and reissuing keeps those terms', async () => {
    const { stores, admin } = open()
    const present = { ...own, owner: 'olga' }
    const issue = (appId: string, more = {}) =>
      admin.keys.issueToken({ account: 'alice', appId, scopes: ['models.run'], ...more })
    const termsOf = async (token: string) => {
      const result = await stores.credentials.resolve(token, context)
      if (!result.ok || result.principal.kind !== 'access-token') throw new Error('refused')
      const { markup, allowedModels } = result.principal.app
      return [markup.basisPoints, allowedModels]
    }
    await admin.apps.put(present)
    await admin.apps.put(notes)
    const { credentialId, token } = await issue('mine')
    const ofHost = await issue('notes')
    const pinned = await issue('notes', { terms: { models: ['acme/fast'], markup: { basisPoints: 500 } } })
    await admin.apps.put({
      ...present,
      markup: { basisPoints: 9_000 },
      allowedModels: ['acme/dear', 'acme/fast'],
    })
    await admin.apps.put({
      ...notes,
      markup: { basisPoints: 3_000 },
      allowedModels: ['acme/dear', 'acme/fast'],
    })
    expect(await termsOf(token)).toEqual([100, ['acme/fast']])
    expect(await termsOf((await admin.keys.reissue(credentialId)).token)).toEqual([100, ['acme/fast']])
    expect(await termsOf(ofHost.token)).toEqual([3_000, ['acme/dear', 'acme/fast']])
    expect(await termsOf(pinned.token)).toEqual([500, ['acme/fast']])
    await admin.apps.put({ ...present, markup: { basisPoints: 50 } })
    const again = await admin.keys.reissue(credentialId)
    expect(await termsOf(again.token)).toEqual([50, ['acme/fast']])
    await admin.apps.put({ ...present, allowedModels: [] })
    expect(await termsOf(again.token)).toEqual([100, []])
    // Tokens of an app of the host are pinned once somebody else edits it.
    await admin.apps.put({ ...notes, markup: { basisPoints: 8_000 }, owner: 'olga' })
    expect(await termsOf(ofHost.token)).toEqual([3_000, ['acme/fast']])
  })

  it.each([
    ['Notes', 'Ɲoteƨ Pro', 'has the name of another app in it'],
    ['Vivid', 'My ʋiʋid', 'has the name of another app in it'],
    ['Notes', 'Nɵtes', 'looks like the name of another app'],
    ['Notes', 'Nȼtes', undefined],
    ['Notes', 'Footnotes', undefined],
    ['Notes Pro', 'Notes', undefined],
  ])('with the name %s are live: the name %s of another owner is %s', async (live, asked, refusal) => {
    const { admin } = open()
    await admin.apps.put({ ...notes, name: live })
    const put = admin.userApps.put('olga', { ...own, name: asked })
    if (refusal === undefined) await put
    else await expect(put).rejects.toThrow(refusal)
  })

  it.each(['Acme Help', 'The Ⱥcmɇ', 'Ac me', 'АСМЕ нова', 'Acmeサポート', 'acme.pay'])(
    'cannot take the name %s if the host reserves it, but keep it if they had it before',
    async (called) => {
      const { stores, admin } = open()
      await admin.apps.put({ ...notes, name: called })
      const strict = createAdmin(stores, { apps: { reservedNames: ['Acme'] } })
      await expect(strict.userApps.put('olga', { ...own, name: called })).rejects.toThrow(/app\.name: /)
      await expect(strict.apps.put({ ...own, name: called })).rejects.toThrow(/app\.name: /)
      if (called !== 'Ac me') await strict.apps.put({ ...notes, name: called, site: 'https://other.example' })
    },
  )

  it('may share words of their names with apps of the same owner or with unreviewed apps', async () => {
    const { admin } = open()
    await admin.apps.put({ ...notes, owner: 'olga' })
    await admin.userApps.put('olga', { ...own, name: 'Notes Pro' })
    await admin.userApps.put('eve', { ...own, id: 'squat', name: 'Pad' })
    await admin.userApps.put('tina', { ...own, id: 'pads', name: 'Pad Two' })
    await expect(admin.userApps.put('eve', { ...own, id: 'three', name: 'My Notes' })).rejects.toThrow(
      'in it',
    )
  })

  it('hide from the router what only Connect needs', async () => {
    const { stores, admin } = open()
    await admin.apps.put(notes)
    const { token } = await admin.keys.issueToken({ account: 'a', appId: 'notes', scopes: ['models.run'] })
    const { id, name: label, markup, allowedModels, account } = notes
    expect(await stores.credentials.resolve(token, context)).toMatchObject({
      principal: { app: { id, name: label, markup, allowedModels, account } },
    })
    const result = await stores.credentials.resolve(token, context)
    expect(
      Object.keys(result.ok && result.principal.kind === 'access-token' ? result.principal.app : {}),
    ).toEqual(['id', 'name', 'markup', 'allowedModels', 'account'])
  })

  it('are refused if a redirect URI, site, cap or origin is invalid, with an error that names the field', async () => {
    const { admin } = open()
    const refused: readonly (readonly [Partial<AppRequest>, string])[] = [
      [{ redirectUris: ['https://notes.example/cb', 'http://notes.example/cb'] }, 'app.redirectUris.1: '],
      [{ redirectUris: ['javascript:alert(1)'] }, 'app.redirectUris.0: must begin with https://'],
      [{ site: 'http://notes.example' }, 'app.site: must be an https address'],
      [{ site: 'https://user:secret@notes.example/' }, 'app.site: must be an https address'],
      [{ site: 'javascript:alert(1)' }, 'app.site: must be an https address'],
      [{ suggestedCap: '-1' }, 'app.suggestedCap: '],
      [{ origins: ['https://notes.example/'] }, 'app.origins.0: must be an origin'],
      [{ origins: ['http://notes.example'] }, 'app.origins.0: must be an origin'],
      [{ testers: Array.from({ length: 11 }, (_, index) => `t${index}`) }, 'app.testers: '],
      [{ name: undefined } as never, 'app.name: is missing'],
      [{ name: 'x'.repeat(41) }, 'app.name: must have 1 to 40 characters'],
    ]
    for (const [values, message] of refused) {
      await expect(admin.apps.put({ ...notes, ...values })).rejects.toThrow(message)
    }
    expect(await admin.apps.list()).toEqual([])
    // An app that nobody can connect is shown to no user.
    await admin.apps.put({ id: 'x', name: 'x'.repeat(41), markup: { basisPoints: 0 }, allowedModels: [] })
  })

  it("need names that cannot be mistaken for another app's or a reserved name", async () => {
    const { admin } = open({ reservedNames: ['Acme'] })
    await admin.apps.put(notes)
    await admin.apps.put(notes)
    await expect(admin.apps.put({ ...notes, id: 'other', name: 'N0TES' })).rejects.toThrow(
      'looks like the name of another app',
    )
    await expect(admin.apps.put({ ...notes, id: 'other', name: 'ACME' })).rejects.toThrow(
      'app.name: is reserved',
    )
    const two = ['a', 'b'].map((id) => admin.apps.put({ ...notes, id, name: 'Same' }))
    const settled = await Promise.allSettled(two)
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { name: 'Refusal', reason: 'conflict' },
    })
  })

  it('cannot have more than the number that the host allows', async () => {
    const { admin } = open({ maxMarkup: { basisPoints: 2_000, flat: '0.001' } })
    await admin.apps.put(notes)
    for (const markup of [{ basisPoints: 2_001 }, { basisPoints: 0, flat: '0.001000001' }]) {
      await expect(admin.apps.put({ ...notes, markup })).rejects.toThrow(
        'app.markup: must be at most 2000 basis points and 0.001 credits per call',
      )
      // The tokens that an operator has issued for it pay its present markup.
      await expect(admin.apps.put({ ...notes, redirectUris: [], markup })).rejects.toThrow(
        'app.markup: must be',
      )
    }
  })

  it('have a logo, which only Connect serves, until it is replaced', async () => {
    const { stores, admin } = open()
    await admin.apps.put(notes)
    const [first, second] = [pngOf(10, 10), pngOf(20, 20)]
    expect(await admin.apps.putLogo('notes', first)).toBe(true)
    expect(await admin.apps.putLogo('nobody', first)).toBe(false)
    const logo = (await stores.connect.findApp('notes'))?.logo
    expect(logo?.type).toBe('image/png')
    expect(await stores.connect.findLogo('notes', logo!.hash)).toEqual({ ...logo, bytes: first })
    await admin.apps.putLogo('notes', second)
    expect(await stores.connect.findLogo('notes', logo!.hash)).toBeUndefined()
    expect(await admin.apps.findLogo('notes', logo!.hash)).toBeUndefined()
    await admin.apps.put(notes)
    const [row] = await admin.apps.list()
    expect(row?.logo).toEqual((await stores.connect.findApp('notes'))?.logo)
    expect(await admin.apps.put(notes, { was: row! })).toBe(true)
    await admin.apps.putLogo('notes', null)
    expect((await stores.connect.findApp('notes'))?.logo).toBeUndefined()
    await expect(admin.apps.putLogo('notes', Buffer.from('<svg/>'))).rejects.toThrow('logo: must be a PNG')
  })

  it('must be disconnected and have every token revoked before they are removed', async () => {
    const { stores, admin } = open()
    await admin.apps.put(notes)
    await admin.apps.putLogo('notes', pngOf(1, 1))
    const operators = await admin.keys.issueToken({ account: 'a', appId: 'notes', scopes: ['models.run'] })
    const users = await connect(stores.connect, 'alice')
    expect(await admin.apps.remove('notes')).toBe(true)
    expect(await admin.apps.remove('notes')).toBe(false)
    for (const token of [operators.token, users.token]) {
      expect(await stores.credentials.resolve(token, context)).toMatchObject({ ok: false, reason: 'revoked' })
    }
    expect(await stores.connect.findApp('notes')).toBeUndefined()
    expect(
      (await admin.connectedApps.listHistory(users.connectedAppId)).map(({ kind, by }) => [kind, by]),
    ).toContainEqual(['revoked', 'operator'])
    await admin.apps.put(notes)
    expect(await stores.credentials.resolve(users.token, context)).toMatchObject({ reason: 'revoked' })
    expect((await stores.connect.findApp('notes'))?.logo).toBeUndefined()
  })

  it('keep a history of who changed what', async () => {
    const { admin } = open()
    await admin.apps.put(notes)
    await admin.apps.put({ ...notes, markup: { basisPoints: 5 }, site: 'https://other.example' })
    await admin.apps.suspend('notes')
    await admin.apps.resume('notes')
    await admin.apps.suspend('nobody')
    const edits = await admin.apps.listEdits({ appId: 'notes' })
    expect(edits.map(({ kind, by, fields }) => [kind, by, fields])).toEqual([
      ['resumed', 'operator', undefined],
      ['suspended', 'operator', undefined],
      ['put', 'operator', ['markup', 'site']],
      ['put', 'operator', Object.keys(notes).sort()],
    ])
    expect(await admin.apps.listEdits({ appId: 'nobody' })).toEqual([])
    expect(await admin.apps.listEdits({ appId: 'notes', limit: 1 })).toHaveLength(1)
  })

  describe('that users register', () => {
    it('start in test mode, earn for their owner, and go live when an operator approves them', async () => {
      const { stores, admin } = open()
      expect(await admin.userApps.put('olga', own)).toEqual({ inReview: false })
      expect(await admin.apps.list()).toEqual([{ ...own, account: 'olga', owner: 'olga', state: 'test' }])
      await admin.userApps.put('olga', { ...own, name: 'Renamed', testers: ['tina'] })
      expect(await stores.connect.findApp('mine')).toMatchObject({ name: 'Renamed', testers: ['tina'] })
      await admin.userApps.askForReview('olga', 'mine')
      const [review] = await admin.userApps.listReviews()
      expect(review).toMatchObject({ appId: 'mine', by: 'olga', values: { live: true } })
      await admin.userApps.decideReview(review!, 'accept')
      expect(await admin.userApps.listReviews()).toEqual([])
      expect((await stores.connect.findApp('mine'))?.state).toBe('live')
      await expect(admin.userApps.askForReview('olga', 'mine')).rejects.toThrow('is live already')
    })

    it('do not go live if they have changed since the operator saw them', async () => {
      const { stores, admin } = open()
      await admin.userApps.put('olga', own)
      await admin.userApps.askForReview('olga', 'mine')
      const changes = [
        () => admin.userApps.put('olga', { ...own, redirectUris: ['https://evil.example/cb'] }),
        () => admin.userApps.put('olga', { ...own, name: 'Harmful' }),
        () => admin.userApps.putLogo('olga', 'mine', pngOf(1, 1)),
      ]
      for (const change of changes) {
        const [seen] = await admin.userApps.listReviews()
        await change()
        expect((await admin.userApps.listReviews())[0]?.values).toEqual({ live: true })
        await expect(admin.userApps.decideReview(seen!, 'accept')).rejects.toThrow(
          'has changed or was decided',
        )
        expect((await stores.connect.findApp('mine'))?.state).toBe('test')
      }
      const [review] = await admin.userApps.listReviews()
      await admin.userApps.decideReview(review!, 'accept')
      expect((await stores.connect.findApp('mine'))?.state).toBe('live')
    })

    it('keep the reviewed values in force until an operator accepts the new ones', async () => {
      const { stores, admin } = open()
      await live(admin)
      await admin.userApps.putLogo('olga', 'mine', pngOf(1, 1))
      const asked = {
        ...own,
        name: 'Better',
        site: 'https://mine.example',
        redirectUris: ['https://mine.example/cb2', 'https://evil.example/cb'],
        markup: { basisPoints: 50 },
      }
      expect(await admin.userApps.put('olga', asked)).toEqual({ inReview: true })
      const inForce = await stores.connect.findApp('mine')
      expect(inForce).toMatchObject({
        name: 'Mine',
        redirectUris: ['https://mine.example/cb2'],
        markup: { basisPoints: 50 },
      })
      expect([inForce?.site, inForce?.logo]).toEqual([undefined, undefined])
      const [review] = await admin.userApps.listReviews({ appIds: ['mine'] })
      const hash = review?.values.logo
      expect(review?.values).toEqual({
        name: 'Better',
        site: 'https://mine.example',
        redirectUris: asked.redirectUris,
        logo: expect.stringMatching(/^[0-9a-f]{64}$/),
      })
      expect(await stores.connect.findLogo('mine', hash!)).toBeUndefined()
      expect((await admin.apps.findLogo('mine', hash!))?.type).toBe('image/png')
      await admin.userApps.decideReview(review!, 'accept')
      expect(await stores.connect.findApp('mine')).toMatchObject({
        name: 'Better',
        site: 'https://mine.example',
        redirectUris: asked.redirectUris,
        logo: { hash },
        markup: { basisPoints: 50 },
      })
      await expect(admin.userApps.decideReview(review!, 'accept')).rejects.toThrow(
        'has changed or was decided',
      )
    })

    it('lose the values waiting for review, including the logo, if an operator rejects them', async () => {
      const { stores, admin } = open()
      await live(admin)
      await admin.userApps.putLogo('olga', 'mine', pngOf(1, 1))
      const [seen] = await admin.userApps.listReviews()
      await admin.userApps.put('olga', { ...own, name: 'Changed since' })
      await expect(admin.userApps.decideReview(seen!, 'accept')).rejects.toThrow('has changed or was decided')
      const [review] = await admin.userApps.listReviews()
      await admin.userApps.decideReview(review!, 'reject')
      expect(await admin.userApps.listReviews()).toEqual([])
      expect(await stores.connect.findApp('mine')).toMatchObject({ name: 'Mine', state: 'live' })
      expect(await admin.apps.findLogo('mine', review!.values.logo!)).toBeUndefined()
    })

    it('apply a removed redirect URI at once, and drop a pending change that the owner takes back', async () => {
      const { stores, admin } = open()
      await live(admin, { ...own, redirectUris: ['https://mine.example/cb', 'https://mine.example/b'] })
      await admin.userApps.put('olga', { ...own, name: 'Better' })
      expect((await stores.connect.findApp('mine'))?.redirectUris).toEqual(['https://mine.example/cb'])
      expect(await admin.userApps.listReviews()).toHaveLength(1)
      expect(await admin.userApps.put('olga', own)).toEqual({ inReview: false })
      expect(await admin.userApps.listReviews()).toEqual([])
      const port = { ...own, redirectUris: [...own.redirectUris, 'https://mine.example:8443/cb'] }
      expect(await admin.userApps.put('olga', port)).toEqual({ inReview: true })
    })

    it('keep the settings that only the operator changes: the earning account and the origins', async () => {
      const { stores, admin } = open()
      const origins = ['https://app.mine.example']
      await admin.apps.put({ ...own, owner: 'olga', origins })
      await admin.userApps.put('olga', { ...own, markup: { basisPoints: 200 } })
      expect(await admin.apps.list()).toEqual([
        { ...own, owner: 'olga', origins, markup: { basisPoints: 200 } },
      ])
      await admin.apps.put({ ...own, owner: 'olga', account: 'mine-inc', state: 'test' })
      await admin.userApps.put('olga', { ...own, name: 'Renamed' })
      expect((await admin.apps.list())[0]).toMatchObject({ name: 'Renamed', account: 'mine-inc' })
      expect((await stores.connect.findApp('mine'))?.state).toBe('test')
    })

    it('cannot be changed by anybody but their owner', async () => {
      const { admin } = open()
      await admin.userApps.put('olga', own)
      await admin.apps.put(notes)
      for (const [account, id] of [
        ['mallory', 'mine'],
        ['olga', 'notes'],
      ] as const) {
        const none = `${JSON.stringify(account)} has no app`
        await expect(admin.userApps.put(account, { ...own, id, name: 'Taken over' })).rejects.toThrow(none)
        await expect(admin.userApps.putLogo(account, id, null)).rejects.toThrow(none)
        await expect(admin.userApps.askForReview(account, id)).rejects.toThrow(none)
        expect(await admin.userApps.remove(account, id)).toBe(false)
      }
      await expect(admin.userApps.put('olga', { ...own, account: 'mallory' } as never)).rejects.toThrow(
        'has no field "account"',
      )
      const models = Array.from({ length: 201 }, (_, index) => `m${index}`)
      await expect(admin.userApps.put('olga', { ...own, allowedModels: models })).rejects.toThrow(
        'app.allowedModels: must have at most 200 items',
      )
      await expect(
        admin.userApps.put('olga', { ...own, allowedModels: ['Checked and recommended by Acme'] }),
      ).rejects.toThrow('app.allowedModels.0: must be a model id')
      expect(await admin.userApps.remove('olga', 'mine')).toBe(true)
      // Its figures and its history are still found by its id.
      await expect(admin.userApps.put('mallory', own)).rejects.toThrow('its id is taken')
      expect(await admin.userApps.put('olga', own)).toEqual({ inReview: false })
    })

    it('are limited to ten per user, even if registered concurrently', async () => {
      const { admin } = open()
      const asked = Array.from({ length: 12 }, (_, index) =>
        admin.userApps.put('olga', { ...own, id: `app-${index}`, name: `App ${'abcdefghijklm'[index]}x` }),
      )
      const settled = await Promise.allSettled(asked)
      expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
      expect(await admin.apps.list({ owner: 'olga' })).toHaveLength(10)
      expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { name: 'Refusal', reason: 'conflict' },
      })
    })

    it('can be changed at most sixty times an hour', async () => {
      const { stores, admin } = open()
      await admin.userApps.put('olga', own)
      for (let edit = 1; edit < 60; edit++) {
        await admin.userApps.put('olga', { ...own, markup: { basisPoints: edit } })
      }
      await expect(admin.userApps.put('olga', { ...own, markup: { basisPoints: 99 } })).rejects.toThrow(
        '60 changes within an hour',
      )
      await expect(admin.userApps.putLogo('olga', 'mine', pngOf(1, 1))).rejects.toThrow('60 changes')
      expect((await stores.connect.findApp('mine'))?.markup).toEqual({ basisPoints: 59 })
      await admin.userApps.put('otto', { ...own, id: 'else', name: 'Otto' })
    })
  })

  async function live(admin: ReturnType<typeof createAdmin>, app = own) {
    await admin.userApps.put('olga', app)
    await admin.userApps.askForReview('olga', 'mine')
    const [review] = await admin.userApps.listReviews()
    await admin.userApps.decideReview(review!, 'accept')
  }
})

/** Connects the app `notes` for an account. */
async function connect(store: ReturnType<ReturnType<typeof useEngine>['open']>['connect'], account: string) {
  const answer = await store.consent({
    account,
    appId: 'notes',
    scopes: ['models.run'],
    models: notes.allowedModels,
    markup: notes.markup,
    appName: 'Notes',
    redirectHost: 'notes.example',
  })
  await store.addConnection({ id: `${account}-phone`, account, appId: 'notes' })
  const token = createToken('access-token')
  await store.saveToken({
    token,
    connectionId: `${account}-phone`,
    scopes: ['models.run'],
    expiresAt: Date.now() + 3_600_000,
  })
  return { token, connectedAppId: answer!.connectedAppId }
}
