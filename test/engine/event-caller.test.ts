import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.js'
import type { CredentialResult } from '../../src/contracts/index.js'
import { createManualClock } from '../conformance/manual-clock.js'
import { startService } from '../routing/service.js'

const credential = { credentialId: 'key-1', account: 'alice' }
const app = { id: 'app-1', markup: { basisPoints: 0 }, allowedModels: [] }

async function askWith(result: unknown, clock: Clock = systemClock) {
  const credentials = { resolve: () => result as CredentialResult }
  const service = await startService({ router: { credentials, clock } })
  onTestFinished(() => service.close())
  const answer = await service.ask()
  const end = await service.end(answer)
  const faults = service.events.filter(({ type }) => type !== 'request-start' && type !== 'request-end')
  return { service, answer, end, faults }
}

describe('the caller of a request, in events,', () => {
  it('is named if the request was refused before its facts were known, and not in addition to them', async () => {
    const service = await startService()
    onTestFinished(() => service.close())
    const facts = await service.end(await service.ask())
    expect([facts.facts?.account, facts.caller]).toEqual(['alice', undefined])
    const caller = { account: 'alice', credentialId: facts.facts!.credentialId }
    for (const [body, code] of [
      [{ model: 'acme/none' }, 'model_not_found'],
      [{ messages: 'none' }, 'invalid_request'],
    ] as const) {
      const end = await service.end(await service.ask(body))
      expect(end).toMatchObject({ outcome: code, caller })
      expect(end.facts).toBeUndefined()
      expect(Object.isFrozen(end.caller)).toBe(true)
    }
  })

  it('is named for lists of models, with the app if it acts for a user', async () => {
    const principal = { kind: 'access-token', ...credential, scopes: [], app }
    const { service } = await askWith({ ok: true, principal })
    await fetch(`${service.url}/models`, { headers: { authorization: 'Bearer x', 'x-request-id': 'list' } })
    expect(await service.end({ id: 'list' })).toMatchObject({
      status: 200,
      caller: { ...credential, appId: 'app-1' },
    })
  })
})

describe('a refused credential, in events,', () => {
  it.each([
    ['suspended', 403, 'account_suspended'],
    ['revoked', 401, 'revoked_credential'],
    ['expired', 401, 'expired_credential'],
  ])('that is %s is named in the event but not to the caller', async (reason, status, outcome) => {
    const named = await askWith({ ok: false, reason, credential: { ...credential, appId: 'app-1' } })
    expect(named.end).toMatchObject({ status, outcome, caller: { ...credential, appId: 'app-1' } })
    expect(Object.isFrozen(named.end.caller)).toBe(true)
    const nameless = await askWith({ ok: false, reason })
    expect(nameless.end.caller).toBeUndefined()
    expect([named.answer.status, named.answer.text]).toEqual([status, nameless.answer.text])
    expect([...named.faults, ...nameless.faults]).toEqual([])
  })

  it('is named for lists of models too', async () => {
    const { service } = await askWith({ ok: false, reason: 'suspended', credential })
    for (const path of ['models', 'models/acme/fast']) {
      await fetch(`${service.url}/${path}`, { headers: { authorization: 'Bearer x', 'x-request-id': path } })
      expect(await service.end({ id: path })).toMatchObject({ status: 403, caller: credential })
    }
  })

  it('is named if its store accepted it although it had expired', async () => {
    const principal = {
      kind: 'access-token',
      ...credential,
      expiresAt: 1,
      scopes: [],
      app,
      metadata: { a: 'b' },
    }
    const { answer, end } = await askWith({ ok: true, principal })
    expect(answer.status).toBe(401)
    expect(end.caller).toEqual({ ...credential, appId: 'app-1' })
  })

  it.each([
    [0, 401],
    [1, 200],
  ])('that its store accepted, expiring in %s ms, is answered with %s', async (leftMs, status) => {
    const clock = createManualClock()
    const principal = { kind: 'api-key', ...credential, expiresAt: clock.now() + leftMs }
    const { answer } = await askWith({ ok: true, principal }, clock)
    expect(answer.status).toBe(status)
  })

  it('is copied, so that a store may reuse its own object', async () => {
    const own = { ...credential, token: 'sk-secret' }
    const { end } = await askWith({ ok: false, reason: 'suspended', credential: own })
    expect(end.caller).toEqual(credential)
    expect(Object.isFrozen(own)).toBe(false)
  })

  it.each([
    null,
    'alice',
    {},
    { account: 'alice' },
    { credentialId: 'key-1' },
    { ...credential, account: 7 },
    { ...credential, credentialId: '' },
    { ...credential, appId: null },
  ])('whose store names the owner as %j is still refused, and the host gets a report', async (wrong) => {
    const { answer, end, faults } = await askWith({ ok: false, reason: 'suspended', credential: wrong })
    expect([answer.status, end.outcome, end.caller]).toEqual([403, 'account_suspended', undefined])
    expect(faults).toMatchObject([
      {
        type: 'store-fault',
        store: 'credentials',
        requestId: answer.id,
        error: { message: expect.stringContaining('the refused credential is not { credentialId, account') },
      },
    ])
  })
})
