import { describe, expect, test } from 'vitest'
import { CompatError, type Principal, parseCredits, type RouterOptions } from '../../src/index.js'
import { ChatClient } from '../helpers/chat-client.js'
import { createDeferred } from '../helpers/deferred.js'
import { answerJson, type Step } from '../helpers/scripted-upstream.js'
import { turns } from '../helpers/stepped-clock.js'
import { RawClient } from '../http/fixture.js'
import { chat, headOf } from './requests.js'
import { ACCESS_TOKEN, API_KEY, ask, providerReply, WireService } from './service.js'

describe('inFlightPerAccount and inFlightPerCredential', () => {
  /** Sends three requests at once, one more than the limit allows, and a fourth when a slot is free again. */
  async function crowd(concurrency: RouterOptions['concurrency'], third: string, fourth: string) {
    const service = await WireService.start({ concurrency, onDisconnect: 'abort' })
    service.credentials.put('sk-wire-alice-2', { kind: 'api-key', account: 'alice' })
    service.upstream.script((reply) => reply.closed)
    const running = [1, 2].map(() => new ChatClient(chat(service, API_KEY)))
    while (service.asked.length < 2) await service.upstream.nextRequest()
    // The body never arrives: a refusal does not wait for it.
    const refused = await RawClient.connect(service.host.port)
    refused.write(headOf(third, 1_000))
    await refused.untilReceived('\r\n\r\n')
    const other = new ChatClient(chat(service, fourth))
    while (service.asked.length < 3) await service.upstream.nextRequest()
    running[0]!.leave()
    while (service.router.inFlight > 2) await turns(1)
    service.upstream.script(answerJson(providerReply()))
    const next = await service.post(ask(), { authorization: `Bearer ${third}` })
    await next.text()
    for (const client of [...running, other]) client.leave()
    while (service.router.inFlight > 0) await turns(1)
    await service.close()
    return { refused: refused.received, next: next.status }
  }

  test('refuse an account at its limit with any of its keys, but not another account', async () => {
    const { next, refused } = await crowd({ inFlightPerAccount: 2 }, 'sk-wire-alice-2', ACCESS_TOKEN)
    expect(refused).toMatch(/^HTTP\/1\.1 429 /)
    expect(refused).toMatch(/retry-after: 1\r\n/)
    expect(refused).toContain('"code":"rate_limited"')
    expect(refused).toContain('This account is running as many calls at once as it may: 2.')
    expect(next).toBe(200)
  })

  test('refuse a credential at its limit, but not another credential of the account', async () => {
    const { next, refused } = await crowd({ inFlightPerCredential: 2 }, API_KEY, 'sk-wire-alice-2')
    expect(refused).toMatch(/^HTTP\/1\.1 429 /)
    expect(refused).toMatch(/retry-after: 1\r\n/)
    expect(next).toBe(200)
  })
})

describe('the limit inFlight', () => {
  test('refuses new calls of a process at its limit, still counts calls whose client left, and aborts none', async () => {
    const service = await WireService.start({ concurrency: { inFlight: 2 } })
    const gate = createDeferred()
    const reply = answerJson(providerReply())
    service.upstream.script([{ wait: gate.promise }, ...(reply as readonly Step[])])
    const stays = new ChatClient(chat(service, API_KEY))
    const leaves = new ChatClient(chat(service, API_KEY))
    while (service.asked.length < 2) await service.upstream.nextRequest()
    leaves.leave()
    await leaves.over
    // The body never arrives: a refusal does not wait for it.
    const refused = await RawClient.connect(service.host.port)
    refused.write(headOf(ACCESS_TOKEN, 1_000))
    await refused.untilReceived('\r\n\r\n')
    expect(refused.received).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused.received).toMatch(/retry-after: \d+\r\n/)
    expect(refused.received).toContain('"code":"overloaded"')
    expect(service.router.inFlight).toBe(2)
    gate.resolve()
    await stays.over
    expect(stays.status).toBe(200)
    while (service.router.inFlight > 0) await turns(1)
    const next = await service.post(ask())
    expect(next.status).toBe(200)
    const { cost } = ((await next.json()) as { usage: { cost: number } }).usage
    // The client that left paid as much as the one that stayed.
    expect(await service.posted('alice')).toBe(1_000_000_000n - 3n * parseCredits(String(cost)))
    await service.close()
  })
})

describe("the host's admit", () => {
  const unpaid = () =>
    new CompatError('account_suspended', 'Pay invoice 7 first.', {
      headers: { 'x-invoice': '7' },
      metadata: { invoice: 7 },
    })

  test('is called with the principal, after the credential and before the body, and may refuse', async () => {
    const seen: Principal[] = []
    const service = await WireService.start({
      router: () => ({
        admit(principal) {
          seen.push(principal)
          return { ok: false, retryAfterSeconds: 6.2 }
        },
      }),
    })
    const client = await RawClient.connect(service.host.port)
    client.write(headOf(ACCESS_TOKEN, 1_000))
    await client.untilReceived('\r\n\r\n')
    expect(client.received).toMatch(/^HTTP\/1\.1 429 /)
    expect(client.received).toMatch(/retry-after: 7\r\n/)
    expect(seen).toMatchObject([{ kind: 'access-token', account: 'bob', app: { id: 'app-1' } }])
    const unknown = await service.post(ask(), { authorization: 'Bearer sk-unknown' })
    expect(unknown.status).toBe(401)
    expect(seen).toHaveLength(1)
    await service.close()
  })

  test.each([
    [
      'throws',
      () => {
        throw unpaid()
      },
    ],
    ['rejects with', () => Promise.reject(unpaid())],
  ])('that %s a CompatError answers with it, which is no fault', async (_what, admit) => {
    const service = await WireService.start({ router: () => ({ admit }) })
    for (const answer of [await service.post(ask()), await service.get('/models')]) {
      expect([answer.status, answer.headers['x-invoice']]).toEqual([403, '7'])
      expect(await answer.json()).toMatchObject({
        error: { code: 'account_suspended', message: 'Pay invoice 7 first.', metadata: { invoice: 7 } },
      })
    }
    expect(service.events.map(({ type }) => type)).not.toContain('fault')
    expect(service.asked).toEqual([])
    await service.close()
  })

  test.each([
    ['throws', () => Promise.reject(new Error('redis is down'))],
    [
      'throws at once',
      () => {
        throw new Error('redis is down')
      },
    ],
    ['answers nothing', () => undefined as never],
    ['returns neither true nor false', () => ({ ok: 'no' }) as never],
  ])('that %s refuses with 503 overloaded', async (_what, admit) => {
    const service = await WireService.start({ expectsFaults: true, router: () => ({ admit }) })
    const response = await service.post(ask())
    expect([response.status, await response.json()]).toMatchObject([503, { error: { code: 'overloaded' } }])
    expect(service.asked).toEqual([])
    await service.close()
  })

  test('that does not answer refuses with 503 overloaded after storeMs', async () => {
    const asked = createDeferred()
    const service = await WireService.start({
      expectsFaults: true,
      router: () => ({
        admit() {
          asked.resolve()
          return new Promise(() => {})
        },
      }),
    })
    const response = service.post(ask())
    await asked.promise
    await service.clock.elapse(5_000)
    expect((await response).status).toBe(503)
    await service.close()
  })
})
