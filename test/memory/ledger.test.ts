import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CallContext, CallFacts, Charge, HoldRequest, SettleRequest } from '../../src/contracts/index.js'
import { memoryLedger } from '../../src/memory/index.js'
import { createManualClock } from '../conformance/manual-clock.js'

const DAY_MS = 24 * 60 * 60 * 1_000
const context: CallContext = { requestId: 'r', signal: new AbortController().signal }
const facts: CallFacts = { requestId: 'r', account: 'alice', credentialId: 'c', model: 'acme/fast' }
const usage = { prompt: 1, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 }

function holdOf(holdId: string, amount: bigint, more: Partial<HoldRequest> = {}): HoldRequest {
  return { holdId, account: 'alice', amount, ttlMs: 60_000, facts, ...more }
}

function settleOf(holdId: string, cost: bigint, more: Partial<SettleRequest> = {}): SettleRequest {
  const charge: Charge = { cost, base: cost, markup: 0n, basis: 'reported', byok: false, usage }
  const postings = [
    { account: 'alice', amount: -cost },
    { account: 'platform', amount: cost },
  ]
  return { holdId, charge, postings, facts, ...more }
}

function open(accounts: Readonly<Record<string, string>> = { alice: '0.0000001' }, keepEntries = 10_000) {
  const clock = createManualClock()
  let ids = 0
  const ledger = memoryLedger(accounts, { keepEntries, clock, newId: () => `id${ids++}` })
  return { clock, ledger }
}

describe('memoryLedger', () => {
  it('changes nothing if it rejects a hold without facts or a memo that is not a string', async () => {
    const { ledger } = open()
    await ledger.hold(holdOf('h', 40n), context)
    const bare = { ...holdOf('i', 50n, { replaces: 'h' }), facts: undefined as unknown as CallFacts }
    await expect(ledger.hold(bare, context)).rejects.toThrow(TypeError)
    expect(await ledger.balance('alice', context)).toEqual({ posted: 100n, held: 40n, available: 60n })
    expect(await ledger.release({ holdId: 'h', account: 'alice' }, context)).toEqual({ state: 'released' })
    expect(() => ledger.credit('alice', '1', 5n as unknown as string)).toThrow('memo must be a string')
    expect((await ledger.balance('alice', context))?.posted).toBe(100n)
  })

  it('answers hold, settle and release without a promise, and rejects invalid amounts', async () => {
    const { ledger } = open()
    expect(ledger.hold(holdOf('h', 40n), context)).toEqual({ ok: true })
    expect(ledger.settle(settleOf('h', 30n), context)).toMatchObject({ repeated: false, overdraft: 0n })
    expect(ledger.release({ holdId: 'h', account: 'alice' }, context)).toEqual({ state: 'settled' })
    const wrong = [ledger.hold(holdOf('i', -1n), context), ledger.settle(settleOf('i', -1n), context)]
    for (const answer of wrong) await expect(answer).rejects.toThrow('from 0 to')
  })

  it('records each opening balance as an entry', async () => {
    const { clock, ledger } = open({ alice: '5.00', bob: '0' })
    expect(await ledger.balance('alice', context)).toEqual({
      posted: 5_000_000_000n,
      held: 0n,
      available: 5_000_000_000n,
    })
    expect(await ledger.balance('bob', context)).toEqual({ posted: 0n, held: 0n, available: 0n })
    const { entries } = await ledger.entries({ account: 'alice' }, context)
    expect(entries).toEqual([
      {
        id: 'id0-0',
        at: clock.now(),
        kind: 'credit',
        postings: [{ account: 'alice', amount: 5_000_000_000n }],
        memo: 'opening balance',
      },
    ])
  })

  it('adds credits to an existing or a new account', async () => {
    const { ledger } = open()
    ledger.credit('alice', '0.000000001')
    ledger.credit('newcomer', '1', 'welcome')
    expect((await ledger.balance('alice', context))?.posted).toBe(101n)
    expect((await ledger.balance('newcomer', context))?.posted).toBe(1_000_000_000n)
    const { entries } = await ledger.entries({ account: 'newcomer' }, context)
    expect(entries).toMatchObject([{ kind: 'credit', memo: 'welcome' }])
  })

  it.each(['-1', '1e3', '', '1.0000000001', ' 1', '9223372036.854775808'])(
    'refuses to grant %j',
    async (amount) => {
      const { ledger } = open()
      expect(() => ledger.credit('alice', amount)).toThrow('amount must be')
      expect((await ledger.balance('alice', context))?.posted).toBe(100n)
    },
  )

  it('reports which opening balance it cannot read', () => {
    expect(() => memoryLedger({ alice: 5 as unknown as string })).toThrow(TypeError)
    expect(() => memoryLedger(new Map([['alice', '5']]) as never)).toThrow(
      "memoryLedger: accounts must be an object of opening balances, such as { alice: '5.00' }; got a Map: convert it with Object.fromEntries",
    )
    expect(() => memoryLedger(Promise.resolve({ alice: '5.00' }) as never)).toThrow(
      /^memoryLedger: accounts must be .*; got a promise: await it first$/,
    )
    expect(() => memoryLedger({ alice: '5,00' })).toThrow('accounts.alice must be a decimal string')
  })

  it('credits nothing to an account without a name', () => {
    expect(() => memoryLedger().credit(undefined as never, '1')).toThrow(
      'account is missing; it must be a string',
    )
  })

  it('credits no more than an account can hold', async () => {
    const { ledger } = open({ alice: '9223372036.854775807' })
    expect(() => ledger.credit('alice', '0.000000001')).toThrow(RangeError)
    expect((await ledger.balance('alice', context))?.posted).toBe(2n ** 63n - 1n)
    expect((await ledger.entries({}, context)).entries).toHaveLength(1)
  })

  it('rejects a charge that would take an account below the lowest balance', async () => {
    const { ledger } = open({})
    await ledger.settle(settleOf('h', 2n ** 63n - 1n), context)
    const further = settleOf('further', 1n, {
      postings: [
        { account: 'alice', amount: -1n },
        { account: 'other', amount: 1n },
      ],
    })
    await expect(ledger.settle(further, context)).rejects.toThrow(RangeError)
    expect(await ledger.balance('other', context)).toBeUndefined()
  })

  it.each([
    ['facts', { facts: undefined }],
    ['usage', { charge: { ...settleOf('h', 40n).charge, usage: undefined } }],
  ])('rejects a charge without %s and posts nothing, then posts the corrected charge', async (_, missing) => {
    const { ledger } = open()
    await ledger.hold(holdOf('h', 50n), context)
    const wrong = { ...settleOf('h', 40n, { claim: 'c' }), ...missing } as unknown as SettleRequest
    await expect(ledger.settle(wrong, context)).rejects.toThrow(TypeError)
    expect(await ledger.balance('alice', context)).toEqual({ posted: 100n, held: 50n, available: 50n })
    const other = holdOf('other', 10n, { claim: 'c' })
    expect(await ledger.hold(other, context)).toEqual({ ok: true })
    await ledger.release({ holdId: 'other', account: 'alice' }, context)
    expect(await ledger.settle(settleOf('h', 40n), context)).toMatchObject({ repeated: false })
    expect(await ledger.balance('alice', context)).toEqual({ posted: 60n, held: 0n, available: 60n })
  })

  it('rejects an invalid amount or time instead of throwing', async () => {
    const { ledger } = open()
    await expect(ledger.hold(holdOf('h', 5 as unknown as bigint), context)).rejects.toThrow(
      'amount must be a bigint',
    )
    await expect(ledger.hold(holdOf('h', 2n ** 63n), context)).rejects.toThrow(RangeError)
    await expect(ledger.hold(holdOf('h', 5n, { ttlMs: Number.NaN }), context)).rejects.toThrow('ttlMs')
    expect(await ledger.hold(holdOf('h', 5n), context)).toEqual({ ok: true })
  })

  it('expires a hold at its exact millisecond', async () => {
    const { clock, ledger } = open()
    await ledger.hold(holdOf('h', 30n, { ttlMs: 1_000 }), context)
    clock.advance(999)
    expect((await ledger.balance('alice', context))?.held).toBe(30n)
    clock.advance(1)
    expect((await ledger.balance('alice', context))?.held).toBe(0n)
  })

  it('drops the oldest entries beyond keepEntries, and no credits', async () => {
    const { ledger } = open({ alice: '0.0000001' }, 3)
    await ledger.hold(holdOf('open', 7n), context)
    for (let number = 0; number < 10; number++) await ledger.settle(settleOf(`h${number}`, 2n), context)
    const { entries, next } = await ledger.entries({ limit: 1_000 }, context)
    expect(entries.map(({ id, holdId }) => [id, holdId])).toEqual([
      ['id0-10', 'h9'],
      ['id0-9', 'h8'],
      ['id0-8', 'h7'],
    ])
    expect(next).toBeUndefined()
    expect(await ledger.balance('alice', context)).toEqual({ posted: 80n, held: 7n, available: 73n })
    expect(await ledger.balance('platform', context)).toEqual({ posted: 20n, held: 0n, available: 20n })
    expect(await ledger.settle(settleOf('open', 5n), context)).toMatchObject({ repeated: false })
    expect(await ledger.balance('alice', context)).toEqual({ posted: 75n, held: 0n, available: 75n })
  })

  it('keeps the latest 10,000 entries by default', async () => {
    const ledger = memoryLedger()
    for (let number = 0; number < 10_005; number++) await ledger.settle(settleOf(`h${number}`, 0n), context)
    const holdIds: (string | undefined)[] = []
    let after: string | undefined
    do {
      const page = await ledger.entries({ limit: 1_000, ...(after !== undefined && { after }) }, context)
      holdIds.push(...page.entries.map(({ holdId }) => holdId))
      after = page.next
    } while (after !== undefined)
    expect(holdIds).toEqual(Array.from({ length: 10_000 }, (_, age) => `h${10_004 - age}`))
  })

  it('posts no charge twice after its entry was dropped, however much time has passed', async () => {
    const { clock, ledger } = open({ alice: '0.0000001' }, 2)
    await ledger.hold(holdOf('late', 10n, { claim: 'l' }), context)
    clock.advance(60_000)
    await ledger.settle(settleOf('old', 10n, { claim: 'c' }), context)
    await ledger.settle(settleOf('late', 10n), context)
    await ledger.release({ holdId: 'released', account: 'alice' }, context)
    for (let number = 0; number < 100; number++) await ledger.settle(settleOf(`h${number}`, 0n), context)
    clock.advance(400 * DAY_MS)
    for (const [holdId, claim] of [
      ['old', 'c'],
      ['late', 'l'],
    ] as const) {
      const first = settleOf(holdId, 10n).charge
      const again = await ledger.settle(settleOf(holdId, 20n), context)
      expect(again).toEqual({ repeated: true, charge: first, overdraft: 0n })
      expect(await ledger.hold(holdOf(`again-${holdId}`, 1n, { claim }), context)).toEqual({
        ok: false,
        reason: 'claimed',
        charge: first,
      })
      const closed = { ok: false, reason: 'closed' }
      expect(await ledger.hold(holdOf(holdId, 1n), context)).toEqual(closed)
      expect(await ledger.hold(holdOf('new', 1n, { replaces: holdId }), context)).toEqual(closed)
      expect(await ledger.release({ holdId, account: 'alice' }, context)).toEqual({ state: 'settled' })
    }
    expect(await ledger.hold(holdOf('released', 1n), context)).toEqual({ ok: false, reason: 'closed' })
    expect(await ledger.balance('alice', context)).toEqual({ posted: 80n, held: 0n, available: 80n })
  })

  it('continues correctly if entries are dropped between two pages', async () => {
    const { ledger } = open({}, 5)
    for (let number = 0; number < 5; number++) await ledger.settle(settleOf(`h${number}`, 1n), context)
    const first = await ledger.entries({ limit: 1 }, context)
    for (let number = 5; number < 7; number++) await ledger.settle(settleOf(`h${number}`, 1n), context)
    const rest = await ledger.entries({ limit: 10, after: first.next! }, context)
    expect(first.entries.map(({ holdId }) => holdId)).toEqual(['h4'])
    expect(rest.entries.map(({ holdId }) => holdId)).toEqual(['h3', 'h2'])
    expect(rest.next).toBeUndefined()
  })

  it.each([0, -1, 1.5, 10_000_001, Number.NaN, '5'])('refuses to keep %j entries', (keepEntries) => {
    expect(() => memoryLedger({}, { keepEntries: keepEntries as number })).toThrow(
      /^memoryLedger: keepEntries must be (?:at least 1|at most 10,000,000|a whole number); got /,
    )
  })

  it.each([0, -1, 1.5, 1_001, Number.NaN])('refuses a limit of %s', async (limit) => {
    await expect(open().ledger.entries({ limit }, context)).rejects.toThrow(
      'limit: must be an integer from 1 to 1000',
    )
  })

  it.each(['', '-1', 'x', '1.5'])('refuses to continue after %j', async (after) => {
    const reading = open().ledger.entries({ after }, context)
    await expect(reading).rejects.toThrow('after must be the next of an earlier page')
  })

  it('shares nothing between two ledgers', async () => {
    const [one, other] = [memoryLedger({ alice: '1' }), memoryLedger({ alice: '1' })]
    await one.settle(settleOf('h', 10n), context)
    expect((await other.balance('alice', context))?.posted).toBe(1_000_000_000n)
    const [first] = (await one.entries({}, context)).entries
    const ids = (await other.entries({}, context)).entries.map(({ id }) => id)
    expect(ids).not.toContain(first?.id)
  })

  it('agrees with a plain model over any history of holds, settlements, releases and time', async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('hold' as const),
        id: fc.nat(9),
        amount: fc.nat(60),
        ttl: fc.integer({ min: 1, max: 50 }),
      }),
      fc.record({ kind: fc.constant('settle' as const), id: fc.nat(9), amount: fc.nat(60) }),
      fc.record({ kind: fc.constant('release' as const), id: fc.nat(9) }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(40) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { clock, ledger } = open({ alice: '0.0000001' }, 4)
        let posted = 100n
        const entries: (string | undefined)[] = [undefined]
        const holds = new Map<
          number,
          { amount: bigint; until: number; state: 'held' | 'released' | 'settled' }
        >()
        const held = (): bigint => {
          let sum = 0n
          for (const hold of holds.values())
            if (hold.state === 'held' && hold.until > clock.now()) sum += hold.amount
          return sum
        }
        for (const action of steps) {
          if (action.kind === 'wait') clock.advance(action.ms)
          if (action.kind === 'hold') {
            const amount = BigInt(action.amount)
            const known = holds.get(action.id)
            const isGranted =
              known === undefined
                ? amount === 0n || posted - held() >= amount
                : known.state === 'held' && known.until > clock.now() && known.amount === amount
            const result = await ledger.hold(holdOf(`h${action.id}`, amount, { ttlMs: action.ttl }), context)
            expect(result.ok).toBe(isGranted)
            if (isGranted && known === undefined) {
              holds.set(action.id, { amount, until: clock.now() + action.ttl, state: 'held' })
            }
          }
          if (action.kind === 'release') {
            await ledger.release({ holdId: `h${action.id}`, account: 'alice' }, context)
            const known = holds.get(action.id) ?? { amount: 0n, until: 0, state: 'released' as const }
            holds.set(action.id, known.state === 'held' ? { ...known, state: 'released' } : known)
          }
          if (action.kind === 'settle') {
            const isFirst = holds.get(action.id)?.state !== 'settled'
            const result = await ledger.settle(settleOf(`h${action.id}`, BigInt(action.amount)), context)
            expect(result.repeated).toBe(!isFirst)
            if (isFirst) {
              posted -= BigInt(action.amount)
              entries.push(`h${action.id}`)
            }
            holds.set(action.id, { amount: 0n, until: 0, state: 'settled' })
          }
          expect(await ledger.balance('alice', context)).toEqual({
            posted,
            held: held(),
            available: posted - held(),
          })
        }
        const read = await ledger.entries({}, context)
        expect(read.entries.map(({ holdId }) => holdId)).toEqual(entries.slice(-4).reverse())
      }),
      { numRuns: 150, seed: 20_261_121 },
    )
  })
})
