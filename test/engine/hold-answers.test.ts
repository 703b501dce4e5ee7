import { describe, expect, it } from 'vitest'
import { turns } from '../helpers/stepped-clock.js'
import { fails } from '../routing/service.js'
import { startFaultyService } from './faulty-service.js'

describe('a hold larger than any account can have', () => {
  it('is refused without a request to the ledger', async () => {
    const { faults, service } = await startFaultyService()
    const { headers, status, text } = await service.ask({ max_tokens: Number.MAX_SAFE_INTEGER })
    expect([status, headers['x-should-retry']]).toEqual([402, 'false'])
    expect(JSON.parse(text).error).toMatchObject({
      code: 'insufficient_credits',
      // 2^53 - 1 tokens at 20 a million and 10 at 10, rounded up to 15 digits.
      message: 'This request needs 180143985094.82 credits on hold; no account can have that many.',
    })
    expect(faults.count('hold')).toBe(0)
    expect(service.events.filter(({ type }) => type.endsWith('fault'))).toEqual([])
  })

  it('leaves the call to a route with a smaller hold', async () => {
    const { service } = await startFaultyService({
      routes: [{ weight: 1 }, { weight: 0, prices: { input: '0', output: '0' } }],
    })
    const { status, text } = await service.ask({ max_tokens: Number.MAX_SAFE_INTEGER })
    expect([status, text]).toEqual([200, expect.stringContaining('I am p1')])
  })
})

describe('an unreadable answer to a hold', () => {
  const CONTEXT = { requestId: 'test', signal: new AbortController().signal }

  it.each([
    undefined,
    null,
    true,
    {},
    { ok: 'true' },
    { ok: 'no', reason: 'insufficient', posted: 1n, available: 1n },
    { ok: false },
    { ok: false, reason: 'insufficient' },
    { ok: false, reason: 'insufficient', posted: 1, available: 1 },
  ])('is a store-fault, and releases a hold that may have been taken: %o', async (answer) => {
    const { faults, ledger, service } = await startFaultyService()
    faults.next('hold', { answers: () => answer })
    const asked = await service.ask()
    expect([asked.status, JSON.parse(asked.text).error.code]).toEqual([503, 'ledger_unavailable'])
    expect(service.events.filter(({ type }) => type.endsWith('fault'))).toMatchObject([
      {
        type: 'store-fault',
        store: 'ledger',
        error: { message: expect.stringMatching(/^hold\(\) returned .* posted and available as bigints/) },
      },
    ])
    expect(faults.count('release')).toBe(1)
    expect(await ledger.balance('alice', CONTEXT)).toMatchObject({ held: 0n })
    expect(service.router.openHolds).toBe(0)
    expect(service.upstreams[0]!.requests).toEqual([])
  })

  it('also releases the hold that it may have replaced', async () => {
    const dear = { input: '1000', output: '1000' }
    const { faults, ledger, service } = await startFaultyService({ routes: [{}, { prices: dear }] })
    faults.next('hold', undefined, { answers: () => undefined })
    service.upstreams[0]!.script(fails(503))
    expect((await service.ask({ max_tokens: 10 })).status).toBe(503)
    expect(faults.count('hold')).toBe(2)
    expect(await ledger.balance('alice', CONTEXT)).toMatchObject({ held: 0n })
    expect(service.router.openHolds).toBe(0)
  })

  it.each(['conflict', 'closed'])('does not include %s, which leaves nothing to release', async (reason) => {
    const { faults, service } = await startFaultyService()
    faults.next('hold', { answers: () => ({ ok: false, reason }) })
    expect((await service.ask()).status).toBe(503)
    expect(faults.count('release')).toBe(0)
  })

  it('does not include a claim of another call with null as the charge, since that call is still running', async () => {
    const { faults, service } = await startFaultyService()
    faults.next('hold', { answers: () => ({ ok: false, reason: 'claimed', charge: null }) })
    const { status, text } = await service.ask({}, { 'idempotency-key': 'one' })
    expect([status, JSON.parse(text).error.code]).toEqual([409, 'idempotency_in_flight'])
    expect(service.events.filter(({ type }) => type.endsWith('fault'))).toEqual([])
  })
})

describe('a hold that is not answered in time', () => {
  it('is reported and released once, even if its ledger later reports the abort', async () => {
    const { clock, faults, service } = await startFaultyService()
    let giveUp = (_error: Error): void => {}
    faults.next('hold', { when: new Promise((_resolve, reject) => (giveUp = reject)) })
    const answer = service.ask()
    await faults.asked('hold')
    await clock.elapse(5_000)
    expect((await answer).status).toBe(503)
    giveUp(new Error('The call was aborted.'))
    await turns(1)
    expect(service.events.filter(({ type }) => type.endsWith('fault'))).toHaveLength(1)
    expect(faults.count('release')).toBe(1)
  })
})
