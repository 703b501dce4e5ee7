import { expect, test } from 'vitest'
import { CompatError, memoryCatalogue } from '../../src/index.js'
import type { CredentialResult } from '../../src/stores.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { ask, MODEL, providerReply, WireService } from './service.js'

const KEY = { kind: 'api-key', credentialId: 'key-1', account: 'alice' }
const APP = { id: 'app-1', account: 'app-owner', markup: { basisPoints: 100 }, allowedModels: [MODEL] }
const TOKEN = { ...KEY, kind: 'access-token', scopes: ['models.run'], app: APP }
const withApp = (more: object) => ({ ...TOKEN, app: { ...APP, ...more } })

const wrong: readonly (readonly [answer: unknown, says: string])[] = [
  [undefined, 'resolve() did not return { ok, … }'],
  [{ principal: KEY }, 'resolve() did not return { ok, … }'],
  [{ ok: 1, principal: KEY }, 'resolve() did not return { ok, … }'],
  [{ ok: false }, 'unknown refusal reason'],
  [{ ok: false, reason: 'disabled' }, 'unknown refusal reason'],
  ...(
    [
      [null, 'is not an object'],
      ['alice', 'is not an object'],
      [{ ...KEY, account: '' }, 'has no account'],
      [{ ...KEY, account: 7 }, 'has no account'],
      [{ ...KEY, credentialId: undefined }, 'has no credentialId'],
      ...[NaN, Infinity, null, '2099-01-01', new Date()].map(
        (expiresAt) => [{ ...KEY, expiresAt }, 'expiresAt is not a number'] as const,
      ),
      [{ ...KEY, kind: 'admin' }, 'neither api-key nor access-token'],
      [{ ...KEY, kind: undefined }, 'neither api-key nor access-token'],
      ...[null, MODEL, [MODEL, 5], new Set([MODEL])].map(
        (allowedModels) => [{ ...KEY, allowedModels }, 'allowedModels is not a list'] as const,
      ),
      [{ ...TOKEN, app: undefined }, 'has no app'],
      [withApp({ id: '' }), 'has no app'],
      ...['https://a.example', null, [5]].map(
        (origins) => [{ ...KEY, origins }, 'origins is not a list of strings'] as const,
      ),
      [{ ...TOKEN, scopes: undefined }, 'scopes is not a list'],
      [{ ...TOKEN, scopes: 'models.run' }, 'scopes is not a list'],
      [{ ...TOKEN, scopes: ['models.run', 5] }, 'scopes is not a list'],
      [withApp({ allowedModels: undefined }), 'the app is neither'],
      [withApp({ allowedModels: MODEL }), 'the app is neither'],
      [withApp({ allowedModels: new Set([MODEL]) }), 'the app is neither'],
      [withApp({ account: '' }), 'account of the app'],
      [withApp({ markup: undefined }), 'the app has no markup'],
      [withApp({ markup: null }), 'the app has no markup'],
      ...[-1, 0.5, 1_000_001, NaN, '100', 100n, null].map(
        (basisPoints) => [withApp({ markup: { basisPoints } }), 'basisPoints'] as const,
      ),
      ...['-1', '0.0000000001', '1e3', 1, null].map(
        (flat) => [withApp({ markup: { basisPoints: 0, flat } }), 'markup.flat'] as const,
      ),
    ] as const
  ).map(([principal, says]) => [{ ok: true, principal }, says] as const),
]

test.each(wrong)(
  'a store that returns %o admits nobody, and the host gets a report',
  async (answer, says) => {
    const resolve = () => answer as CredentialResult
    const service = await WireService.start({
      expectsFaults: true,
      router: () => ({ credentials: { resolve } }),
    })
    for (const response of [
      await service.post(ask()),
      await service.get('/models'),
      await service.get(`/models/${MODEL}`),
    ]) {
      const got = [response.status, await response.json()]
      expect(got).toMatchObject([500, { error: { code: 'internal_error' } }])
    }
    const faults = service.events.filter(({ type }) => type !== 'request-start' && type !== 'request-end')
    expect(faults).toHaveLength(3)
    for (const fault of faults) {
      expect(fault).toMatchObject({ type: 'store-fault', store: 'credentials' })
      expect(fault).toMatchObject({ error: { message: expect.stringContaining(says) } })
    }
    expect(service.asked).toEqual([])
    await service.close()
  },
)

test.each([[KEY], [{ ...KEY, allowedModels: [] }], [TOKEN]])(
  'a store that returns a complete principal admits it: %o',
  async (principal) => {
    const resolve = () => ({ ok: true, principal }) as CredentialResult
    const service = await WireService.start({ router: () => ({ credentials: { resolve } }) })
    expect((await service.get('/models')).status).toBe(200)
    await service.close()
  },
)

test('an API key with a list of models may use and see only those, and its list is read for each request', async () => {
  const OTHER = 'acme/other'
  const allowed = ['acme/FAST', `${MODEL}-2`]
  const principal = { ...KEY, allowedModels: allowed }
  const models = [MODEL, OTHER].map((id) => ({ id, prices: { input: '1', output: '1' } }))
  const service = await WireService.start({
    router: () => ({
      credentials: { resolve: () => ({ ok: true, principal }) as CredentialResult },
      catalogue: memoryCatalogue(models),
    }),
  })
  const listed = async () => {
    const { data } = (await (await service.get('/models')).json()) as { data: { id: string }[] }
    return data.map(({ id }) => id)
  }
  for (const answer of [await service.post(ask()), await service.get(`/models/${MODEL}`)]) {
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'model_not_allowed',
        param: 'model',
        message: `This API key may not use the model '${MODEL}'.`,
      },
    })
  }
  expect(service.asked).toEqual([])
  expect(await listed()).toEqual([])
  expect((await service.get('/models/acme/none')).status).toBe(404)
  allowed.push(MODEL)
  service.upstream.script(answerJson(providerReply()))
  expect((await service.post(ask())).status).toBe(200)
  expect((await service.get(`/models/${MODEL}`)).status).toBe(200)
  expect(await listed()).toEqual([MODEL])
  expect((await service.get(`/models/${OTHER}`)).status).toBe(403)
  await service.close()
})

test('a CompatError thrown by a store is sent to its client, and is not a fault', async () => {
  const resolve = () => {
    throw new CompatError('account_suspended', 'This account has an invoice to pay.')
  }
  const service = await WireService.start({ router: () => ({ credentials: { resolve } }) })
  const answer = await service.post(ask())
  expect(answer.status).toBe(403)
  expect(await answer.json()).toMatchObject({
    error: { code: 'account_suspended', message: 'This account has an invoice to pay.' },
  })
  expect(service.events.map(({ type }) => type)).not.toContain('store-fault')
  await service.close()
})
