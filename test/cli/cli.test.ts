import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { version } from '../../src/base/version.js'
import { postgresStores } from '../../src/postgres/index.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { adminFunctions } from '../helpers/admin-functions.js'
import { context, createFacts, createHold, createSettle } from '../helpers/ledger-requests.js'
import { pngOf } from '../helpers/pictures.js'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { listCommands, nameOf } from './command-table.js'
import { runCommand } from './run-command.js'

describe('the command line', () => {
  let testFile: TestFile
  let server: TestDatabase
  beforeAll(async () => {
    ;[testFile, server] = await Promise.all([createTestFile(), createTestDatabase()])
  })
  afterAll(async () => {
    testFile.remove()
    await server.drop()
  })

  const run = (args: string, { stdin, env = {} }: { stdin?: string; env?: object } = {}) =>
    runCommand(args.split(' '), { COMPAT_ROUTER_FILE: testFile.file, ...env }, stdin)

  it('generates a secret key that stores accept, without a database', async () => {
    const env = { COMPAT_ROUTER_FILE: `${testFile.file}-none` }
    const [first, second] = [
      await run('maintenance generate-secret', { env }),
      await run('maintenance generate-secret', { env }),
    ]
    expect(first).toEqual({ exitCode: 0, out: expect.stringMatching(/^[0-9a-f]{64}\n$/), said: '' })
    expect(second.out).not.toBe(first.out)
    expect(existsSync(env.COMPAT_ROUTER_FILE)).toBe(false)
    const sealing = { ...env, COMPAT_ROUTER_SECRET_KEYS: `k1:${first.out.trim()}` }
    expect(await run('maintenance rotate-secrets', { env: sealing })).toMatchObject({ exitCode: 0 })
    rmSync(env.COMPAT_ROUTER_FILE, { force: true })
  })

  it('opens accounts, credits them once per reference, corrects balances and shows them', async () => {
    expect((await run('maintenance migrate')).exitCode).toBe(0)
    expect(await run('accounts open alice')).toMatchObject({ exitCode: 0, said: 'alice is open\n' })
    const credit = 'accounts credit alice 5.25 --create --reference invoice-1 --memo paid'
    expect(await run(credit)).toMatchObject({ out: expect.stringContaining('5.25'), said: '' })
    expect(await run(credit)).toMatchObject({
      exitCode: 0,
      said: expect.stringMatching(/^Nothing was posted: invoice-1 was already posted at 20.*Z\n$/),
    })
    const found = JSON.parse((await run('--json entries list --reference invoice-1')).out)
    expect(found.entries).toMatchObject([{ kind: 'credit', reference: 'invoice-1', memo: 'paid' }])
    expect((await run('accounts correct alice -- -0.25')).exitCode).toBe(0)
    const shown = await run('--json accounts balance alice')
    expect(JSON.parse(shown.out)).toEqual({ posted: '5', held: '0', available: '5' })
    expect(await run('accounts list')).toMatchObject({ out: expect.stringContaining('alice'), said: '' })
    expect((await run('accounts list --limit 1')).said).toBe('There may be more: --after alice\n')
    expect(await run('accounts balance nobody')).toMatchObject({
      exitCode: 1,
      said: 'error: There is no account nobody\n',
    })
  })

  it('issues a valid key, shows it once, reissues and revokes it', async () => {
    const issued = JSON.parse((await run('--json keys issue alice --label laptop')).out)
    const stores = sqliteStores({ file: testFile.file })
    expect(await stores.credentials.resolve(issued.token, context)).toMatchObject({ ok: true })
    const listed = await run('keys list --account alice')
    expect(listed.out).toContain('laptop')
    expect(listed.out).not.toContain(issued.token)
    const { credentialId } = await createAdmin(stores).keys.issue({
      account: 'alice',
      metadata: { team: 'blue', 'a=b': 'c=d' },
    })
    const ids = async (filter: string) =>
      JSON.parse((await run(`--json keys list ${filter}`)).out).map(
        (key: { credentialId: string }) => key.credentialId,
      )
    expect(await ids('--metadata team=blue')).toEqual([credentialId])
    expect(await ids('--metadata team=red')).toEqual([])
    expect((await run('keys list --metadata team')).said).toContain('such as team=blue')
    const again = JSON.parse((await run(`--json keys reissue ${issued.credentialId}`)).out)
    expect(await stores.credentials.resolve(issued.token, context)).toMatchObject({ reason: 'revoked' })
    expect(await stores.credentials.resolve(again.token, context)).toMatchObject({ ok: true })
    expect((await run(`keys revoke ${issued.credentialId}`)).exitCode).toBe(0)
    expect(await stores.credentials.resolve(again.token, context)).toMatchObject({ reason: 'revoked' })
    expect((await run('keys revoke nobody')).exitCode).toBe(1)
    await stores.close()
  })

  it('refunds part of a charge and then the rest', async () => {
    const stores = sqliteStores({ file: testFile.file })
    await stores.ledger.settle(createSettle('refundable', 'carl', 30n), context)
    await stores.close()
    const listed = JSON.parse((await run('--json entries list --account carl')).out)
    const [{ id }] = listed.entries
    const part = await run(`entries refund ${id} 0.00000001 --reference ticket-7 --memo slow`)
    expect(part).toMatchObject({ exitCode: 0, out: expect.stringContaining('refund'), said: '' })
    expect((await run(`entries refund ${id} 0.00000001 --reference ticket-7`)).said).toMatch(
      /^Nothing was posted: ticket-7 was already posted at 20/,
    )
    const rest = JSON.parse((await run(`--json entries refund ${id}`)).out)
    expect(rest.refund).toEqual({ of: id, amount: '0.00000002' })
    expect(await run(`entries refund ${id}`)).toMatchObject({
      exitCode: 1,
      said: `error: The charge ${id} of 0.00000003 credits has been refunded already\n`,
    })
    expect((await run('entries list --account carl')).out).toMatch(/refund .*carl .*0.00000001 .*slow/)
    expect((await run('--json accounts balance carl')).out).toContain('"posted": "0"')
  })

  it('sets, lists, changes and removes limits', async () => {
    await run('accounts credit dora 1 --create')
    const { credentialId } = JSON.parse((await run('--json keys issue dora')).out)
    expect(await run(`limits put dora-budget 20.5 --owner ${credentialId} --zone Asia/Tokyo`)).toMatchObject({
      exitCode: 0,
      said: `dora-budget: 20.5 credits per month for credential ${credentialId}\n`,
    })
    const rate = 'limits put dora-rate 60 --of account --owner dora --unit requests --per total'
    expect((await run(rate)).said).toBe('dora-rate: 60 requests in total for account dora\n')
    const listed = (await run('limits list')).out
    expect(listed).toMatch(
      /dora-budget .*credits .*month Asia\/Tokyo .*20\.5 .*0 .*0 .*20\.5 .*T15:00:00\.000Z/,
    )
    expect(listed).toMatch(/dora-rate .*account .*dora .*requests .*total .*60 .*0 .*0 .*60 /)
    await run(rate.replace(' 60 ', ' 30 '))
    const rows = JSON.parse((await run('--json limits list --of account --owner dora')).out)
    expect(rows).toEqual([
      {
        ...{ id: 'dora-rate', unit: 'requests', per: 'total', of: 'account', ownerId: 'dora' },
        ...{ amount: '30', used: '0', held: '0', left: '30' },
      },
    ])
    expect((await run('limits list --limit 1')).said).toBe('There may be more: --after dora-budget\n')
    for (const [command, said] of [
      ['limits put x 1 --owner nobody', 'There is no credential "nobody"'],
      ['limits put dora-rate 1 --owner dora --of app', 'There is no app "dora"'],
      [`limits put dora-rate 1 --owner ${credentialId}`, 'Another owner has the limit "dora-rate"'],
      ['limits put x 1', "required option '--owner <id>'"],
      ['limits put x 1.5 --owner dora --of account --unit tokens', 'limit.amount: must be a whole number'],
      ['limits put x 1 --owner dora --of account --zone Mars/Base', 'limit.zone: must be'],
      ['limits put x 1 --owner dora --of account --per fortnight', 'Allowed choices are minute, hour'],
    ] as const) {
      const refused = await run(command)
      expect([refused.exitCode, refused.said]).toEqual([1, expect.stringContaining(said)])
    }
    expect((await run('limits remove dora-rate')).said).toBe('dora-rate: removed\n')
    expect(await run('limits remove dora-rate')).toMatchObject({
      exitCode: 1,
      said: 'error: There is no limit dora-rate\n',
    })
    await run('limits remove dora-budget')
  })

  it('issues a key for some models, and lists them', async () => {
    const issued = JSON.parse((await run('--json keys issue alice --allow a/b --allow c')).out)
    const listed = await run('--json keys list --account alice')
    const row = JSON.parse(listed.out).find(
      ({ credentialId }: { credentialId: string }) => credentialId === issued.credentialId,
    )
    expect(row.allowedModels).toEqual(['a/b', 'c'])
    expect((await run('keys list --account alice')).out).toContain('a/b c')
    await run(`keys revoke ${issued.credentialId}`)
  })

  it('registers apps, issues their tokens, and suspends', async () => {
    expect((await run('apps put writer --markup 2000 --flat 0.001 --allow a/b --allow c')).exitCode).toBe(0)
    expect((await run('apps list')).out).toContain('a/b c')
    expect((await run('accounts credit alcie 5')).said).toContain(
      'There is no account alcie. Did you mean alice? To make it, add --create.',
    )
    expect((await run('accounts correct nobody-known 5')).said).toContain(
      'There is no account nobody-known. To make it, add --create.',
    )
    expect((await run('keys issue alcie --allow a/nowhere')).said).toMatch(
      /no account alcie yet[\s\S]*no model a\/nowhere yet/,
    )
    const bounded = JSON.parse(
      (await run('--json keys issue alice --budget 20.5/month --rate 60/minute')).out,
    )
    expect(JSON.parse((await run(`--json limits list --owner ${bounded.credentialId}`)).out)).toMatchObject([
      { unit: 'credits', per: 'month', amount: '20.5' },
      { unit: 'requests', per: 'minute', amount: '60' },
    ])
    for (const given of ['keys issue alice', 'keys issue-token alice writer']) {
      const several = await run(
        `--json ${given} --budget 1/day --budget 20/month --rate 5/minute --rate 9/hour`,
      )
      const { credentialId } = JSON.parse(several.out)
      const limits: { amount: string; per: string }[] = JSON.parse(
        (await run(`--json limits list --owner ${credentialId}`)).out,
      )
      expect(limits.map(({ amount, per }) => `${amount}/${per}`).toSorted()).toEqual([
        '1/day',
        '20/month',
        '5/minute',
        '9/hour',
      ])
    }
    expect((await run('keys issue alice --label one --label two')).said).toContain(
      "option '--label <text>' is given twice; it takes one value",
    )
    expect((await run('--schema one --schema two keys list')).said).toContain(
      "'--schema <name>' is given twice",
    )
    for (const wrong of ['20', '20/fortnight', '/month', '-1/month', '20/']) {
      expect((await run(`keys issue alice --budget=${wrong}`)).said).toContain('such as 20/month')
    }
    const issued = await run('--json keys issue-token alice writer --expires 2030-01-01')
    expect(JSON.parse(issued.out).token).toMatch(/^at-cr-/)
    expect((await run('keys issue-token alice nobody')).said).toContain('There is no app "nobody"')
    const more = await run('keys issue-token alice writer --keys-per-account 1')
    expect(more.said).toContain('has 1 keys and tokens in use, the most that are allowed')
    expect((await run('keys issue alice --keys-per-account 0')).said).toContain(
      'keysPerAccount must be at least 1; got 0',
    )
    for (const command of [
      'apps suspend writer',
      'apps resume writer',
      'accounts suspend alice',
      'accounts resume alice',
    ]) {
      expect((await run(command)).exitCode).toBe(0)
    }
    expect((await run('apps suspend nobody')).exitCode).toBe(1)
  })

  it('adds an app that users can connect, edits it in part, and decides on its review', async () => {
    const add =
      'apps add pad --name Pad --markup 100 --flat 0.001 --redirect-uri https://pad.example/cb --cap 5'
    expect(await run(add)).toMatchObject({ exitCode: 0, said: 'pad is registered\n' })
    expect((await run(add)).said).toBe('error: There is an app pad already: change it with apps edit\n')
    expect((await run('apps edit pad --markup 200 --owner olga --test --tester tina')).exitCode).toBe(0)
    const [app] = JSON.parse((await run('--json apps list --owner olga')).out)
    expect(app).toEqual({
      id: 'pad',
      name: 'Pad',
      markup: { basisPoints: 200, flat: '0.001' },
      allowedModels: [],
      redirectUris: ['https://pad.example/cb'],
      suggestedCap: '5',
      owner: 'olga',
      state: 'test',
      testers: ['tina'],
    })
    expect((await run('apps edit pad --live')).exitCode).toBe(0)
    expect((await run('apps list --owner olga')).out).toContain('live')
    expect((await run('apps edit pad --allow acme/nowhere')).said).toContain(
      'There is no model acme/nowhere yet',
    )
    expect((await run('apps edit pad --allow-all')).exitCode).toBe(0)
    expect((await run('apps list --owner olga')).out).toContain('all, later ones too')
    const both = await run('apps edit pad --allow-all --allow acme/fast')
    expect([both.exitCode, both.said]).toEqual([1, expect.stringContaining("'--allow <model>'")])
    expect((await run('apps edit nobody --live')).said).toBe('error: There is no app nobody\n')
    expect((await run('apps edit pad --redirect-uri http://pad.example/cb')).said).toContain(
      'error: app.redirectUris.0: ',
    )

    const timeOf = (text: string): string => /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(text)![0]
    expect((await run('user-apps list-reviews')).out).toBe('nothing waits for review\n')
    const stores = sqliteStores({ file: testFile.file })
    const admin = createAdmin(stores)
    const { state, owner, account, ...own } = (await admin.apps.list({ appIds: ['pad'] }))[0]!
    for (const [decision, name] of [
      ['reject', 'Pad'],
      ['accept', 'Better pad'],
    ]) {
      await admin.userApps.put('olga', { ...own, name: 'Pad of pads' })
      const seen = timeOf((await run('user-apps list-reviews')).out)
      await admin.userApps.put('olga', { ...own, name: 'Better pad' })
      expect((await run(`user-apps decide-review pad ${seen} ${decision}`)).said).toBe(
        'error: The review of the app "pad" has changed or was decided: load it again\n',
      )
      const { out } = await run('user-apps list-reviews')
      expect(out).toContain('{"name":"Better pad"}')
      expect((await run(`user-apps decide-review pad ${timeOf(out)} ${decision}`)).exitCode).toBe(0)
      expect((await stores.connect.findApp('pad'))?.name).toBe(name)
    }
    expect((await run('user-apps decide-review pad')).said).toContain("missing required argument 'at'")
    expect((await run('user-apps decide-review pad 2027-01-31 accept')).said).toBe(
      'error: Nothing of the app pad waits for review\n',
    )

    const picture = `${testFile.file}.png`
    writeFileSync(picture, pngOf(16, 16))
    expect((await run(`apps put-logo pad ${picture}`)).exitCode).toBe(0)
    expect((await stores.connect.findApp('pad'))?.logo?.type).toBe('image/png')
    expect((await run('apps put-logo pad')).said).toBe('pad: logo removed\n')
    expect((await run('apps put-logo nobody')).exitCode).toBe(1)
    await stores.close()
  })

  it('lists the apps that users have connected, sets their caps, revokes them, and removes their app', async () => {
    const stores = sqliteStores({ file: testFile.file })
    const terms = { scopes: ['models.run'], models: ['a/b'], markup: { basisPoints: 0 } }
    const shown = { appName: 'Pad', redirectHost: 'pad.example' }
    const consent = (account: string) => stores.connect.consent({ account, appId: 'pad', ...terms, ...shown })
    const { connectedAppId } = (await consent('alice'))!
    await consent('bob')
    expect((await run('connected-apps list --account alice')).out).toContain(connectedAppId)
    expect((await run('connected-apps list --app pad --limit 1')).said).toContain(
      'There may be more: --after ',
    )
    expect((await run(`connected-apps set-cap ${connectedAppId} 20 --zone Europe/Paris`)).said).toBe(
      `${connectedAppId}: 20 credits per month\n`,
    )
    const [row] = JSON.parse((await run('--json connected-apps list --account alice --in-use')).out)
    expect(row).toMatchObject({ cap: { amount: '20', per: 'month', zone: 'Europe/Paris' }, spent: '0' })
    expect((await run(`connected-apps set-cap ${connectedAppId} none`)).said).toBe(
      `${connectedAppId}: no cap\n`,
    )
    expect((await run(`connected-apps set-cap ${connectedAppId} -5`)).exitCode).toBe(1)
    expect((await run('connected-apps set-cap none 5')).said).toBe(
      'error: There is no connected app "none"\n',
    )
    expect((await run(`connected-apps revoke ${connectedAppId}`)).said).toBe(`${connectedAppId}: revoked\n`)
    expect((await run(`connected-apps revoke ${connectedAppId}`)).exitCode).toBe(1)
    expect((await run(`connected-apps list-history ${connectedAppId}`)).out).toContain('cap-changed')
    expect((await run('apps remove pad')).said).toBe('pad: removed\n')
    expect((await run('apps remove pad')).exitCode).toBe(1)
    expect((await run('connected-apps list --in-use')).out).toBe('none\n')
    await stores.close()
  })

  it('puts models from standard input and routes with a secret that is never an argument', async () => {
    const models = [{ id: 'a/b', prices: { input: '1', output: '2' } }, { id: 'c' }]
    expect((await run('models put -', { stdin: JSON.stringify(models) })).exitCode).toBe(0)
    expect((await run('models list')).out).toContain('a/b')
    const path = `${testFile.file}-route.json`
    const route = { id: 'r1', model: 'a/b', provider: 'openai', adapter: 'openai', upstreamModel: 'm' }
    writeFileSync(path, JSON.stringify(route))
    const keys = { COMPAT_ROUTER_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}` }
    const put = await run(`routes put ${path} --secret-stdin`, { stdin: 'sk-upstream\n', env: keys })
    expect(put).toMatchObject({ exitCode: 0, said: 'r1 serves a/b\n' })
    const listed = await run('routes list --model a/b')
    expect(listed.out).toContain('k1')
    expect(listed.out).toMatch(/callers' keys[\s\S]* no /)
    expect(listed.out).not.toContain('sk-upstream')
    const both = {
      COMPAT_ROUTER_SECRET_KEYS: `k2:${randomBytes(32).toString('hex')},${keys.COMPAT_ROUTER_SECRET_KEYS}`,
    }
    expect((await run('maintenance rotate-secrets', { env: both })).said).toBe('1 secret sealed again\n')
    expect((await run('routes list')).out).toContain('k2')
    expect((await run(`routes put ${path}`, { env: { PROVIDER_SECRET: 'sk', ...keys } })).exitCode).toBe(0)
    expect((await run(`routes put ${path}`, { env: { PROVIDER_SECRET: 'sk' } })).said).toContain(
      "To store a provider's key, set COMPAT_ROUTER_SECRET_KEYS=id:key",
    )
    const wrong = [{ id: 'd' }, { id: 'e', price: {} }]
    expect((await run('models put -', { stdin: JSON.stringify(wrong) })).said).toMatch(
      /^d is in the catalogue\nerror: Item 2 of the list: model: has no field "price"/,
    )
    expect((await run('models remove d')).exitCode).toBe(0)
    expect((await run('routes put - --secret-stdin')).said).toContain('cannot both come from standard input')
    expect((await run('models put -', { stdin: '{' })).said).toContain('Standard input is not JSON')
    expect(await run('models put -', { stdin: '[]' })).toMatchObject({
      exitCode: 1,
      said: expect.stringContaining('The list has no models'),
    })
    expect((await run('routes remove r1')).exitCode).toBe(0)
    expect((await run('models remove c')).exitCode).toBe(0)
    expect((await run('models remove c')).exitCode).toBe(1)
  })

  it('puts and lists mediaTokens, promptOverhead and dimensions, and refuses invalid ones', async () => {
    const model = {
      id: 'media',
      mediaTokens: { image: 500, pdf: 90_000 },
      promptOverhead: 0,
      dimensions: 768,
    }
    expect((await run('models put -', { stdin: JSON.stringify(model) })).exitCode).toBe(0)
    expect(JSON.parse((await run('--json models list')).out)).toContainEqual(expect.objectContaining(model))
    for (const field of ['mediaTokens', 'promptOverhead', 'dimensions']) {
      const put = await run('models put -', { stdin: JSON.stringify({ ...model, [field]: -1 }) })
      expect(put).toMatchObject({ exitCode: 1, said: expect.stringContaining(`model.${field}: `) })
    }
    expect((await run('models remove media')).exitCode).toBe(0)
  })

  it('reports entries in pages and spend by group, and writes no control characters', async () => {
    const stores = sqliteStores({ file: testFile.file })
    for (const holdId of ['1', '2', '3']) {
      const facts = createFacts('alice', { provider: '\u001b[31mred' })
      await stores.ledger.settle(createSettle(holdId, 'alice', 500_000_000n, { facts }), context)
    }
    await stores.close()
    const page = await run('entries list --account alice --limit 2')
    expect(page.out).toContain('-0.5')
    expect(page.out).not.toContain('\u001b')
    const cursor = /--after (\S+)/.exec(page.said)?.[1]
    expect((await run(`--json entries list --account alice --limit 2 --after ${cursor}`)).out).toContain(
      '"holdId": "1"',
    )
    expect((await run('reports spend --by model --from 2020-01-01')).out).toContain('1.5')
    expect((await run('reports spend --by colour')).exitCode).toBe(1)
    expect((await run('reports spend --from yesterday')).said).toContain('Must be a valid time')
    expect(await run('maintenance verify')).toEqual({
      exitCode: 0,
      out: 'The books are sound: every balance, hold and charge adds up.\n',
      said: '',
    })
    expect(await run('--json maintenance verify')).toEqual({ exitCode: 0, out: '[]\n', said: '' })
    expect(await run('maintenance verify --new')).toEqual({
      exitCode: 0,
      out: 'The books are sound: every balance, hold and charge adds up.\n',
      said: expect.stringMatching(/^0 days verified: the days before \d{4}-\d\d-\d\d are sound\n$/),
    })
    expect((await run('--json maintenance verify --since 2026-01-01')).out).toBe('[]\n')
    expect((await run('maintenance prune-holds --days 30')).said).toBe('0 holds deleted\n')
    expect((await run('maintenance prune-holds --days 3')).said).toContain('at least 30 days')
  })

  it('lists open holds and releases one', async () => {
    const stores = sqliteStores({ file: testFile.file })
    const hold = createHold('alice', 7n)
    await stores.ledger.hold(hold, context)
    await stores.close()
    expect((await run('maintenance open-holds --account alice')).out).toMatch(
      new RegExp(`${hold.holdId}.*alice.*0\\.000000007.*acme/fast`),
    )
    expect(await run(`maintenance free-hold ${hold.holdId}`)).toMatchObject({
      exitCode: 0,
      said: `${hold.holdId}: free\n`,
    })
    expect((await run('maintenance open-holds')).out).toBe('none\n')
    expect(await run(`maintenance free-hold ${hold.holdId}`)).toMatchObject({
      exitCode: 1,
      said: `error: There is no open hold "${hold.holdId}"\n`,
    })
  })

  it('lists how calls ended, explains one, and shows the last use and the spend of each key', async () => {
    const issued = JSON.parse((await run('--json keys issue carol')).out)
    const { credentialId } = issued
    const stores = sqliteStores({ file: testFile.file })
    const facts = createFacts('carol', { credentialId, provider: 'acme', routeId: 'acme:fast' })
    const settle = createSettle('of-carol', 'carol', 250_000_000n, { facts })
    await stores.ledger.settle(settle, context)
    const at = Date.UTC(2030, 0, 31, 12, 0, 30)
    const call = { requestId: 'request-1', operation: 'chat', at, durationMs: 1_234.5, facts }
    stores.calls.record({
      ...call,
      ...{
        id: 'chatcmpl-good',
        outcome: 'completed',
        status: 200,
        charge: settle.charge,
        firstTokenMs: 99.6,
      },
    })
    const attempts = [{ routeId: 'acme:fast', outcome: 'provider_error', why: 'The provider answered 500.' }]
    stores.calls.record({
      ...call,
      ...{ id: 'chatcmpl-bad', requestId: 'request-2', outcome: 'provider_error', status: 502, at: at + 1 },
      routing: { considered: ['acme:fast'], excluded: [], chosenBy: 'only-route', attempts },
    })
    await stores.close()
    const all = await run('calls list --account carol')
    expect(all.out).toContain('2030-01-31T12:00:30.000Z')
    for (const text of ['chatcmpl-good', 'chatcmpl-bad', '1235', '100', '0.25'])
      expect(all.out).toContain(text)
    for (const filter of ['--status 502', '--code provider_error', '--problems', '--request request-2']) {
      const found = await run(`--json calls list --key ${credentialId} ${filter} --from 2030-01-31`)
      expect(JSON.parse(found.out).calls.map(({ id }: { id: string }) => id)).toEqual(['chatcmpl-bad'])
    }
    const first = await run('calls list --account carol --limit 1')
    const cursor = /--after (\S+)/.exec(first.said)?.[1]
    expect((await run(`calls list --account carol --limit 1 --after ${cursor}`)).out).toContain(
      'chatcmpl-good',
    )
    const shown = await run('calls find request-2')
    for (const text of ['acme:fast: provider_error, The provider answered 500.', 'only-route', '502']) {
      expect(shown.out).toContain(text)
    }
    expect((await run('--json calls find chatcmpl-good')).out).toContain('"cost": "0.25"')
    expect(await run('calls find nothing')).toMatchObject({
      exitCode: 1,
      said: expect.stringContaining('No call nothing is kept'),
    })
    expect((await run('calls nothing')).exitCode).toBe(1)
    const [listed] = JSON.parse((await run('--json keys list --account carol')).out)
    expect(listed).toMatchObject({ credentialId, lastUsedAt: Date.UTC(2030, 0, 31, 12), spent: '0.25' })
    const table = (await run('keys list --account carol')).out
    for (const text of ['2030-01-31T12:00:00.000Z', '0.25']) expect(table).toContain(text)
  })

  it('reports differences in the books, and exits with 1', async () => {
    const file = `${testFile.file}-broken`
    const stores = sqliteStores({ file })
    await stores.database.all({ text: "insert into {accounts} (id, posted, created_at) values ('x', 5, 0)" })
    await stores.close()
    const verified = await run('maintenance verify', { env: { COMPAT_ROUTER_FILE: file } })
    const message =
      'The account "x" has a balance of 0.000000005, but its postings add up to 0: restore the missing postings from a backup, or change posted in its accounts row by the difference.'
    const said = `${message}\nerror: The books do not add up: 1 difference\n`
    expect(verified).toMatchObject({ exitCode: 1, said })
    expect(verified.out).toMatch(/balance .* x .* 0\.000000005 .* 0 /)
    const asJson = await run('--json maintenance verify', { env: { COMPAT_ROUTER_FILE: file } })
    expect(asJson).toMatchObject({ exitCode: 1, said })
    expect(JSON.parse(asJson.out)).toEqual([
      { what: 'balance', id: 'x', found: '0.000000005', expected: '0', message },
    ])
  })

  it('works on PostgreSQL if DATABASE_URL is set, and shows no password', async () => {
    const env = { DATABASE_URL: server.url.replace('postgres@', 'postgres:hidden@') }
    const migrated = await run('maintenance migrate', { env })
    expect(migrated.exitCode).toBe(0)
    expect(migrated.said).toMatch(/^PostgreSQL .*compat_router is up to date\n$/)
    expect(migrated.said).not.toContain('hidden')
    expect((await run('accounts credit bob 3 --create', { env })).exitCode).toBe(0)
    expect(await postgresStores(server.pool).ledger.balance('bob', context)).toMatchObject({
      posted: 3n * 10n ** 9n,
    })
  })

  it('writes its version without opening a database', async () => {
    const env = { COMPAT_ROUTER_FILE: '/nowhere/credits.db' }
    for (const args of ['--version', '-V', '--version maintenance migrate']) {
      expect(await run(args, { env })).toEqual({ exitCode: 0, out: `${version}\n`, said: '' })
    }
  })

  it('has the nouns and verbs of the functions of administration', () => {
    const functions = adminFunctions()
    const more = listCommands()
      .map(nameOf)
      .filter((name) => !functions.includes(name))
    expect(more).toEqual([
      'apps add',
      'apps edit',
      'maintenance migrate',
      'maintenance generate-secret',
      'find',
      'demo',
    ])
  })

  it.each([
    ['key list', 'keys'],
    ['acounts credit alice 1', 'accounts'],
    ['conected-apps list', 'connected-apps'],
    ['keys lst', 'list'],
    ['accounts credt alice 1', 'credit'],
    ['maintenance verfy', 'verify'],
    ['user-apps list-review', 'list-reviews'],
  ])('%s is refused, and %s is suggested', async (mistyped, meant) => {
    const refused = await run(mistyped)
    expect(refused).toMatchObject({ exitCode: 1, out: '' })
    expect(refused.said).toContain(`(Did you mean ${meant}?)`)
  })

  it('lists the verbs of a noun in its help, and the nouns with their verbs in its own', async () => {
    const { out } = await run('--help')
    expect(out.replace(/\s+/g, ' ')).toContain(
      'calls how calls ended, refusals and failures included: list, find',
    )
    const keys = await run('keys --help')
    expect(keys).toMatchObject({ exitCode: 0, said: '' })
    for (const verb of ['issue', 'issue-token', 'reissue', 'revoke', 'list']) {
      expect(keys.out).toMatch(new RegExp(`^  ${verb} `, 'm'))
    }
    const without = await run('keys')
    expect(without).toEqual({ exitCode: 1, out: '', said: keys.out })
  })

  it('shows help, and refuses unknown commands and invalid values', async () => {
    expect(await run('--help')).toMatchObject({ exitCode: 0 })
    expect((await run('--help')).out).toContain('Secrets come from standard input or the environment')
    expect(await run('nonsense')).toMatchObject({ exitCode: 1 })
    expect(await run('accounts credit alice 1.0000000001')).toMatchObject({ exitCode: 1 })
    expect(
      (await run('maintenance migrate', { env: { COMPAT_ROUTER_SECRET_KEYS: 'nonsense' } })).said,
    ).toContain('COMPAT_ROUTER_SECRET_KEYS')
  })
})
