import { describe, it } from 'vitest'
import { memoryLedger } from '../../src/memory/index.js'
import { ledgerCases } from '../../src/testing/ledger/index.js'
import { createManualClock } from './manual-clock.js'

describe('memory ledger with a manual clock', () => {
  for (const { id, name, run } of ledgerCases) {
    it(`${id}: ${name}`, () =>
      run({
        open(accounts) {
          const clock = createManualClock()
          return { store: memoryLedger(accounts, { clock }), advance: clock.advance }
        },
      }))
  }
})

describe('memory ledger in real time', () => {
  for (const { id, name, run } of ledgerCases) {
    it(`${id}: ${name}`, () => run({ open: (accounts) => memoryLedger(accounts) }))
  }
})
