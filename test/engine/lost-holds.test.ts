import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/base/clock.js'
import type { HoldRequest, KeptHolds, LedgerStore, SettleRequest } from '../../src/contracts/ledger.js'
import type { ChatAdapter, ProviderEvent } from '../../src/contracts/providers.js'
import { memoryCredentials, memoryLedger, type RouterEvent } from '../../src/index.js'
import { chat } from '../../src/operations/chat/index.js'
import type { RouterOptions } from '../../src/options.js'
import { createManualClock } from '../conformance/manual-clock.js'
import { createDeferred } from '../helpers/deferred.js'
import { choiceEvent, FINISH, openEngine, streamedCallWith } from './one-call.js'

const EVERY_MS = 5_000
const SILENT_MS = 40_000
const CREDIT = 10n ** 9n
const USAGE: ProviderEvent = { type: 'usage', usage: { prompt: 10, completion: 20 } as never }
const context = { requestId: 'test', signal: new AbortController().signal }
const token = (content: string) => choiceEvent({ content })

/** An engine with one call to a provider that the test plays, over a ledger that can lose its holds. */
function start(
  options: Partial<RouterOptions> & { readonly headers?: Readonly<Record<string, string>> } = {},
) {
  const { headers, ...more } = options
  const timers = createManualClock()
  let stoodStillMs = 0
  const clock: Clock = { now: () => timers.now() + stoodStillMs, after: timers.after }
  const memory = memoryLedger({ alice: '1' }, { clock })
  const log: string[] = []
  const holds: HoldRequest[] = []
  const settlements: SettleRequest[] = []
  const events: RouterEvent[] = []
  let holder = 'first'
  let onHold = (): void => undefined
  let keep = async (): Promise<KeptHolds> => ({ holder, everyMs: EVERY_MS, silentMs: SILENT_MS })
  const ledger: LedgerStore = {
    ...memory,
    async hold(request, hold) {
      log.push(`hold ${holds.push(request)}`)
      const result = await memory.hold(request, hold)
      onHold()
      return result
    },
    async settle(request, settle) {
      settlements.push(request)
      return memory.settle(request, settle)
    },
    async keepHolds() {
      log.push('keep')
      return keep()
    },
  }
  const asked = createDeferred<Parameters<ChatAdapter['chat']>>()
  const finished = createDeferred()
  const adapter: ChatAdapter = {
    async chat(...call) {
      log.push('ask')
      asked.resolve(call)
      await finished.promise
      return { terminated: true }
    },
  }
  const engine = openEngine(adapter, {
    ledger,
    clock,
    onEvent: (event) => events.push(event),
    credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }, { clock }),
    ...more,
  })
  const sent = { bytes: '', status: 0 }
  const write = (bytes: string) => {
    if (bytes !== '') log.push('send')
    sent.bytes += bytes
  }
  const run = engine.run(chat, streamedCallWith(headers ?? {}), {
    left: false,
    onLeave: () => undefined,
    send: (status, _headers, bytes) => {
      sent.status = status
      write([bytes].flat().join(''))
    },
    openStream: () => undefined,
    write,
    end: (bytes) => write([...bytes].join('')),
    drop: () => expect.fail('The client was dropped'),
  })
  return {
    engine,
    events,
    holds,
    ledger: memory,
    log,
    run,
    sent,
    settlements,
    timers,
    asked: asked.promise,
    whenHeld: (run: () => void) => {
      onHold = () => {
        onHold = () => undefined
        run()
      }
    },
    keepWith: (answer: typeof keep) => {
      keep = answer
    },
    /** Time passes without a timer that fires. */
    standStill(ms: number) {
      stoodStillMs += ms
    },
    /** Another process frees the holds of this one. */
    async lose() {
      holder = 'second'
      for (const { account, holdId } of holds) await memory.release({ holdId, account }, context)
      log.length = 0
    },
    async finish() {
      const [, take] = await asked.promise
      await take([FINISH, USAGE])
      finished.resolve()
      await run
    },
  }
}

const held = async (ledger: LedgerStore) => (await ledger.balance('alice', context))!.held

describe('a router whose holds were lost', () => {
  it('takes them again before it sends more, after it was suspended', async () => {
    const call = start()
    const [, take] = await call.asked
    await take([token('one')])
    call.standStill(60_000)
    await call.lose()
    await take([token('two')])
    expect(call.log).toEqual(['keep', 'hold 2', 'send'])
    expect(call.holds[1]).toMatchObject({
      holdId: `${call.holds[0]!.holdId}-2`,
      amount: call.holds[0]!.amount,
      replaces: call.holds[0]!.holdId,
    })
    expect(await held(call.ledger)).toBe(call.holds[0]!.amount)
    await call.finish()
    expect(call.settlements.map(({ holdId }) => holdId)).toEqual([call.holds[1]!.holdId])
    expect(await held(call.ledger)).toBe(0n)
    expect(call.engine.openHolds).toBe(0)
    await call.engine.close({ graceMs: 0 })
  })

  it("takes them again at the ledger's next answer", async () => {
    const call = start()
    const [, take] = await call.asked
    await call.lose()
    call.timers.advance(EVERY_MS + 1_000)
    await expect.poll(() => call.log).toEqual(['keep', 'hold 2'])
    // Once is enough.
    call.timers.advance(EVERY_MS + 1_000)
    await expect.poll(() => call.log.filter((line) => line === 'keep').length).toBeGreaterThan(1)
    await take([token('one')])
    expect(call.holds.length).toBe(2)
    await call.finish()
    expect(await held(call.ledger)).toBe(0n)
    await call.engine.close({ graceMs: 0 })
  })

  it('keeps them after a short pause, and asks nothing', async () => {
    const call = start()
    const [, take] = await call.asked
    call.log.length = 0
    call.standStill(SILENT_MS / 2 - 1_000)
    await take([token('one')])
    expect(call.log).toEqual(['send'])
    await call.finish()
    expect(call.holds.length).toBe(1)
    await call.engine.close({ graceMs: 0 })
  })

  it('asks after a long pause, and keeps holds that still exist', async () => {
    const call = start()
    const [, take] = await call.asked
    call.log.length = 0
    call.standStill(30_000)
    await take([token('one')])
    expect(call.log).toEqual(['keep', 'send'])
    await call.finish()
    expect(call.settlements.map(({ holdId }) => holdId)).toEqual([call.holds[0]!.holdId])
    await call.engine.close({ graceMs: 0 })
  })

  it('sends nothing to the provider until the call has a hold, if it was suspended while asking for one', async () => {
    const call = start()
    call.whenHeld(() => {
      call.standStill(60_000)
      void call.lose()
    })
    await call.asked
    // A comment may keep the client's connection open meanwhile.
    expect(call.log.filter((line) => line !== 'send')).toEqual(['keep', 'hold 2', 'ask'])
    await call.finish()
    expect(call.settlements.map(({ holdId }) => holdId)).toEqual([call.holds[1]!.holdId])
    await call.engine.close({ graceMs: 0 })
  })

  it('continues a call that the balance no longer covers, and charges it in full', async () => {
    const call = start()
    const [, take] = await call.asked
    call.standStill(60_000)
    await call.lose()
    const rest = { ...call.holds[0]!, holdId: 'other', amount: CREDIT }
    expect(await call.ledger.hold(rest, context)).toMatchObject({ ok: true })
    await take([token('one')])
    expect(call.log).toEqual(['keep', 'hold 2', 'send'])
    await call.finish()
    expect(call.settlements).toMatchObject([{ holdId: call.holds[0]!.holdId, charge: { cost: 30_000n } }])
    expect(await call.ledger.balance('alice', context)).toMatchObject({
      posted: CREDIT - 30_000n,
      held: CREDIT,
    })
    await call.engine.close({ graceMs: 0 })
  })

  it('cuts off a call that may not be overdrawn and that the balance no longer covers, and charges what was sent', async () => {
    const call = start({ neverOverdraw: true, charging: { holdOutputTokens: 50 } })
    const [{ signal }, take] = await call.asked
    await take([token('This has been sent to the client.')])
    call.standStill(60_000)
    await call.lose()
    await call.ledger.hold({ ...call.holds[0]!, holdId: 'other', amount: CREDIT }, context)
    await take([token('This has not.')])
    await call.run
    expect(signal.aborted).toBe(true)
    expect(call.sent.bytes).toContain('"code":"credits_on_hold"')
    expect(call.sent.bytes).not.toContain('This has not.')
    const [{ charge, holdId }] = call.settlements as [SettleRequest]
    expect([holdId, charge.basis]).toEqual([call.holds[0]!.holdId, 'estimated'])
    expect(charge.cost).toBeGreaterThan(0n)
    expect(charge.cost).toBeLessThanOrEqual(call.holds[0]!.amount)
    await call.engine.close({ graceMs: 0 })
  })

  it('cuts off a call that a budget refuses, and charges what was sent', async () => {
    const limits = [{ id: 'budget', unit: 'credits', amount: CREDIT / 2n, per: 'total' }] as const
    const call = start({
      credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice', limits } }),
      charging: { holdOutputTokens: 50 },
    })
    const [, take] = await call.asked
    await take([token('This has been sent to the client.')])
    call.standStill(60_000)
    await call.lose()
    const [limit] = call.holds[0]!.limits!
    const other = { ...call.holds[0]!, holdId: 'other', amount: CREDIT / 2n }
    expect(
      await call.ledger.hold({ ...other, limits: [{ ...limit!, amount: CREDIT / 2n }] }, context),
    ).toMatchObject({ ok: true })
    await take([token('This has not.')])
    await call.run
    expect(call.sent.bytes).toContain('"code":"budget_on_hold"')
    expect(call.sent.bytes).not.toContain('This has not.')
    expect(call.settlements.length).toBe(1)
    const end = call.events.find((event) => event.type === 'request-end')
    expect(end).toMatchObject({ outcome: 'budget_on_hold' })
    await call.engine.close({ graceMs: 0 })
  })

  it('leaves an idempotency key to the call that has taken it, and still reserves the credit', async () => {
    const call = start({ headers: { 'idempotency-key': 'k' } })
    const [, take] = await call.asked
    call.standStill(60_000)
    await call.lose()
    const other = { ...call.holds[0]!, holdId: 'other', amount: 1n }
    expect(await call.ledger.hold(other, context)).toMatchObject({ ok: true })
    await take([token('one')])
    expect(call.log.slice(0, 3)).toEqual(['keep', 'hold 2', 'hold 3'])
    expect([call.holds[1]!.claim, call.holds[2]!.claim]).toEqual([call.holds[0]!.claim, undefined])
    expect(await held(call.ledger)).toBe(call.holds[0]!.amount + 1n)
    await call.finish()
    expect(call.events.map(({ type }) => type)).toContain('claim-lost')
    expect(await held(call.ledger)).toBe(1n)
    await call.engine.close({ graceMs: 0 })
  })

  it('continues if the ledger does not answer, asks again, and then takes the holds again', async () => {
    const call = start()
    const [, take] = await call.asked
    call.keepWith(() => Promise.reject(new Error('The server is down')))
    call.standStill(60_000)
    await call.lose()
    await take([token('one')])
    expect(call.log).toEqual(['keep', 'send'])
    call.timers.advance(2_000)
    await expect.poll(() => call.log.length).toBeGreaterThan(2)
    call.keepWith(async () => ({ holder: 'second', everyMs: EVERY_MS, silentMs: SILENT_MS }))
    await expect
      .poll(() => {
        call.timers.advance(1_000)
        return call.holds.length
      })
      .toBe(2)
    await call.finish()
    expect(call.events.filter(({ type }) => type === 'store-fault')).toEqual([])
    await call.engine.close({ graceMs: 0 })
  })

  it('waits for a hold that is being taken again before it settles', async () => {
    const call = start()
    const [, take] = await call.asked
    await take([token('one')])
    const answer = createDeferred()
    const hold = call.ledger.hold
    Object.assign(call.ledger, {
      async hold(...request: Parameters<LedgerStore['hold']>) {
        await answer.promise
        return hold.apply(call.ledger, request)
      },
    })
    await call.lose()
    call.timers.advance(EVERY_MS + 1_000)
    await expect.poll(() => call.log).toEqual(['keep', 'hold 2'])
    const finished = call.finish()
    answer.resolve()
    await finished
    expect(call.settlements.map(({ holdId }) => holdId)).toEqual([call.holds[1]!.holdId])
    expect(await held(call.ledger)).toBe(0n)
    await call.engine.close({ graceMs: 0 })
  })

  it('asks nothing more once closed', async () => {
    const call = start()
    await call.asked
    await call.finish()
    await call.engine.close({ graceMs: 0 })
    call.log.length = 0
    call.timers.advance(60_000)
    expect(call.log).toEqual([])
  })
})
