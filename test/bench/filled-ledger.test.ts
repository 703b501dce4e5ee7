import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { DAYS, fillLedger, MODELS } from './lib/filled-ledger.js'

describe.each(engineNames)('the filled ledger on %s', (name) => {
  const engine = useEngine(name)

  it('has correct books with the charges asked for, and is filled once', async () => {
    const stores = engine.open('filled')
    const { maintenance, reports } = createAdmin(stores)
    for (let turn = 0; turn < 2; turn++) await fillLedger(stores, maintenance, 900)
    expect(await maintenance.verify()).toEqual([])
    const report = await reports.spendReport({ by: 'day' })
    expect(report.total.calls).toBe(900)
    expect(report.books.isEqual).toBe(true)
    expect(report.rowCount).toBe(DAYS)
    expect((await reports.spendReport({ by: 'model' })).rowCount).toBe(MODELS)
  })
})
