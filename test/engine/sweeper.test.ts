import { expect, it } from 'vitest'
import type { ExpiredHold } from '../../src/contracts/ledger.js'
import { createEngine } from '../../src/engine/engine.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { engineOptions } from '../../src/options.js'
import { createManualClock } from '../conformance/manual-clock.js'

it('close() waits for a sweep that is under way, so that nothing is asked of the ledger after it', async () => {
  const clock = createManualClock()
  const ledger = memoryLedger({}, { clock })
  let answer = (_holds: readonly ExpiredHold[]): void => {}
  let sweeps = 0
  ledger.expireHolds = () => {
    sweeps++
    return new Promise((resolve) => {
      answer = resolve
    })
  }
  const engine = createEngine(
    engineOptions({
      credentials: memoryCredentials({}, { clock }),
      catalogue: memoryCatalogue([]),
      ledger,
      providers: memoryProviders([]),
      clock,
    }),
  )
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
