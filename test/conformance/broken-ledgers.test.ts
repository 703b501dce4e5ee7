import { describe, expect, it } from 'vitest'
import { type MemoryLedger, memoryLedger } from '../../src/memory/index.js'
import { type LedgerCase, ledgerCases } from '../../src/testing/index.js'
import { brokenLedgers } from './broken-ledgers.js'
import { brokenLimits } from './broken-limits.js'
import { brokenLookUps } from './broken-look-ups.js'
import { brokenSteps } from './broken-steps.js'
import { createManualClock } from './manual-clock.js'

type Spoil = (good: MemoryLedger) => object

async function failuresOf({ spoil }: { readonly spoil: Spoil }): Promise<readonly string[]> {
  const failed: string[] = []
  for (const { id, run } of ledgerCases) {
    const clock = createManualClock()
    const open: Parameters<LedgerCase['run']>[0]['open'] = (accounts) => {
      const good = memoryLedger(accounts, { clock })
      return { store: { ...good, ...spoil(good) }, advance: clock.advance }
    }
    await run({ open }).catch(() => failed.push(id))
  }
  return failed
}

describe('the ledger cases find a ledger that', () => {
  for (const broken of [...brokenLedgers, ...brokenLimits, ...brokenLookUps, ...brokenSteps]) {
    it(broken.what, async () => {
      expect(await failuresOf(broken)).toContain(broken.foundBy)
    })
  }
})

it('the ledger cases pass a ledger without a fault', async () => {
  expect(await failuresOf({ spoil: () => ({}) })).toEqual([])
})
