import { expect, it } from 'vitest'
import type { CallFacts, ExpiredHold, LedgerStore } from '../../src/contracts/ledger.js'
import { createEngine } from '../../src/engine/engine.js'
import type { RouterEvent } from '../../src/index.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { engineOptions } from '../../src/options.js'
import { createManualClock } from '../conformance/manual-clock.js'

/** An engine without calls, whose ledger has overdue holds. */
function startEngine(expireHolds: LedgerStore['expireHolds'], onEvent?: (event: RouterEvent) => void) {
  const clock = createManualClock()
  const engine = createEngine(
    engineOptions({
      credentials: memoryCredentials({}, { clock }),
      catalogue: memoryCatalogue([]),
      ledger: { ...memoryLedger({}, { clock }), expireHolds },
      providers: memoryProviders([]),
      clock,
      ...(onEvent && { onEvent }),
    }),
  )
  return { clock, engine }
}

it('a sweep of expired holds continues at once if it found as many holds as it requested', async () => {
  const overdue = Array.from({ length: 1_200 }, (_, index) => ({
    holdId: `hold-${index}`,
    account: 'alice',
    amount: 1n,
    facts: {} as CallFacts,
  }))
  const told: string[] = []
  let sweptAll = (): void => {}
  const swept = new Promise<void>((resolve) => {
    sweptAll = resolve
  })
  const { clock, engine } = startEngine(
    async (limit) => overdue.splice(0, limit),
    (event) => {
      if (event.type === 'hold-expired') told.push(event.hold.holdId)
      if (told.length === 1_200) sweptAll()
    },
  )
  clock.advance(30_000)
  await swept
  expect(new Set(told).size).toBe(1_200)
  await engine.close()
})

it('closing the router waits for a sweep in progress, so that the ledger gets no request after it', async () => {
  let answer = (_holds: readonly ExpiredHold[]): void => {}
  let sweeps = 0
  const { clock, engine } = startEngine(() => {
    sweeps++
    return new Promise((resolve) => {
      answer = resolve
    })
  })
  clock.advance(30_000)
  expect(sweeps).toBe(1)
  let isClosed = false
  const closed = engine.close().then(() => {
    isClosed = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isClosed).toBe(false)
  answer([])
  await closed
  clock.advance(90_000)
  expect(sweeps).toBe(1)
})
