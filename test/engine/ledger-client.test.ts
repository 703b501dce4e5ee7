import { expect, it } from 'vitest'
import type { EngineOptions } from '../../src/contracts/engine-options.js'
import { LedgerClient } from '../../src/engine/charging/ledger-client.js'
import type { RouterEvent } from '../../src/index.js'
import { DEFAULTS } from '../../src/options.js'
import type { Charge, SettleRequest } from '../../src/stores.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'

const USAGE = { prompt: 11, cached: 0, cacheWrite: 0, completion: 7, reasoning: 0 }
const SENT: Charge = { cost: 9n, base: 6n, markup: 3n, basis: 'reported', byok: false, usage: USAGE }
const REQUEST: SettleRequest = {
  holdId: 'hold-1',
  charge: SENT,
  postings: [],
  facts: { requestId: 'one', account: 'alice', credentialId: 'c', model: 'm' },
}

/** Settles with a ledger that answers so, and returns the result that the call continues with. */
async function settleWith(answer: object) {
  const events: RouterEvent[] = []
  const ledger = { settle: async () => answer } as unknown as EngineOptions['ledger']
  const emit = (event: RouterEvent) => void events.push(event)
  const options = {
    ledger,
    emit,
    clock: createSteppedClock(),
    ...DEFAULTS,
  } as unknown as EngineOptions
  const settled = await new LedgerClient(options).settle(REQUEST, 'one')
  return { settled, events: events.map(({ type }) => type) }
}

it('the ledger client accepts a valid answer unchanged, whatever the charge', async () => {
  for (const charge of [SENT, { ...SENT }, { ...SENT, cost: 2n, base: 1n, markup: 1n, basis: 'estimated' }]) {
    const answer = { repeated: true, charge, overdraft: 4n }
    const { settled, events } = await settleWith(answer)
    expect(settled).toBe(answer)
    expect(events).toEqual([])
  }
})

it('the ledger client accepts a charge with or without audio and image counts, but none that is not a number', async () => {
  for (const audioInput of [undefined, 0, 4]) {
    const usage = audioInput === undefined ? USAGE : { ...USAGE, audioInput }
    const answer = { repeated: true, charge: { ...SENT, usage }, overdraft: 0n }
    expect(await settleWith(answer)).toEqual({ settled: answer, events: [] })
  }
  for (const imageOutput of ['4', Number.NaN, null]) {
    const charge = { ...SENT, usage: { ...USAGE, imageOutput } }
    const { settled, events } = await settleWith({ repeated: true, charge, overdraft: 0n })
    expect(settled?.charge).toEqual(SENT)
    expect(events).toEqual(['store-fault'])
  }
})

it("the ledger client uses the ledger's cost even if the rest of its charge is unusable", async () => {
  const charge = { cost: 2n, base: 1n, markup: 1n }
  const { settled, events } = await settleWith({ repeated: true, charge, overdraft: 4n, claimLost: true })
  const known = { ...SENT, cost: 2n, base: 1n, markup: 1n }
  expect(settled).toEqual({ repeated: true, charge: known, overdraft: 4n, claimLost: true })
  expect(events).toEqual(['claim-lost', 'store-fault'])
})

it("the ledger client continues with the charge as sent if the ledger's cost cannot be right", async () => {
  for (const amounts of [{ cost: 9 }, { base: '6' }, { markup: null }, { base: 10n, markup: -1n }]) {
    const { settled, events } = await settleWith({ repeated: false, charge: { ...SENT, ...amounts } })
    expect(settled).toEqual({ repeated: false, charge: SENT, overdraft: 0n })
    expect(events).toEqual(['store-fault'])
  }
})
