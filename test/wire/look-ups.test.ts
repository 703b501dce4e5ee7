import { describe, expect, test } from 'vitest'
import type { CredentialResult, CredentialStore } from '../../src/stores.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { turns } from '../helpers/stepped-clock.js'
import { RawClient } from '../http/fixture.js'
import { API_KEY, ask, providerReply, WireService } from './service.js'

const UNKNOWN: CredentialResult = { ok: false, reason: 'unknown' }
const alice: CredentialResult = {
  ok: true,
  principal: { kind: 'api-key', credentialId: 'key-1', account: 'alice' },
}

interface LookUp {
  readonly token: string
  readonly signal: AbortSignal
  answer(result: CredentialResult): void
}

/** A store that answers when the test says so. */
function heldStore() {
  const asked: LookUp[] = []
  const credentials: CredentialStore = {
    resolve: (token, { signal }) => new Promise((answer) => asked.push({ token, signal, answer })),
  }
  return { asked, credentials }
}

const started = async (lookUps: readonly LookUp[], count: number) => {
  while (lookUps.length < count) await turns(1)
}

describe('credential look-ups in progress', () => {
  test('never exceed concurrency.lookUps; one more is 503 at once, and succeeds after one is answered', async () => {
    const { asked, credentials } = heldStore()
    const service = await WireService.start({ concurrency: { lookUps: 2 }, router: () => ({ credentials }) })
    const waiting = [1, 2].map((number) => service.get('/models', `sk-${number}`))
    await started(asked, 2)
    for (const refused of [
      await service.get('/models', 'sk-3'),
      await service.get('/models/acme/fast', 'sk-3'),
      await service.post(ask(), { authorization: 'Bearer sk-3' }),
    ]) {
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
      expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } })
    }
    expect(asked).toHaveLength(2)
    asked[0]!.answer(UNKNOWN)
    expect((await waiting[0]!).status).toBe(401)
    const next = service.get('/models', 'sk-4')
    await started(asked, 3)
    for (const { answer } of asked) answer(UNKNOWN)
    for (const { status } of [await waiting[1]!, await next]) expect(status).toBe(401)
    await service.close()
  })

  test('of tokens that were valid before continue while unknown ones fill the limit', async () => {
    const { asked, credentials } = heldStore()
    const service = await WireService.start({ concurrency: { lookUps: 1 }, router: () => ({ credentials }) })
    service.upstream.script(answerJson(providerReply()))
    const pay = () => service.post(ask(), { authorization: `Bearer ${API_KEY}` })
    const first = pay()
    await started(asked, 1)
    asked[0]!.answer(alice)
    expect((await first).status).toBe(200)
    const flood = service.get('/models', 'sk-unknown')
    await started(asked, 2)
    expect((await service.get('/models', 'sk-other')).status).toBe(503)
    const paying = pay()
    await started(asked, 3)
    expect((await pay()).status).toBe(503)
    asked[2]!.answer({ ok: false, reason: 'revoked' })
    expect((await paying).status).toBe(401)
    expect((await pay()).status).toBe(503)
    asked[1]!.answer(UNKNOWN)
    await flood
    expect(asked).toHaveLength(3)
    await service.close()
  })

  test('that are answered synchronously do not count', async () => {
    const service = await WireService.start({ concurrency: { lookUps: 1 } })
    const all = await Promise.all([1, 2, 3, 4].map(() => service.get('/models')))
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    await service.close()
  })

  test('are aborted when their client leaves', async () => {
    const { asked, credentials } = heldStore()
    const service = await WireService.start({ router: () => ({ credentials }) })
    const client = await RawClient.connect(service.host.port)
    client.write('GET /compat/v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer sk-1\r\n\r\n')
    await started(asked, 1)
    client.socket.destroy()
    while (!asked[0]!.signal.aborted) await turns(1)
    asked[0]!.answer(UNKNOWN)
    await service.close()
  })
})
