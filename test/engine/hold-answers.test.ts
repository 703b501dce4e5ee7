import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryLedger } from '../../src/index.js'
import { FaultPlan, faultyLedger } from '../helpers/faulty-ledger.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { type ServiceOptions, startService } from '../routing/service.js'

async function start({ routes }: ServiceOptions = {}) {
  const clock = createSteppedClock()
  const faults = new FaultPlan()
  const ledger = faultyLedger(memoryLedger({ alice: '1' }, { clock }), clock, faults.decide)
  const service = await startService({ ...(routes && { routes }), router: { clock, ledger } })
  onTestFinished(() => service.close())
  return { faults, ledger, service }
}

describe('a hold of more than any account can have', () => {
  it('is refused as others are, and the ledger is not asked for it', async () => {
    const { faults, service } = await start()
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

  it('leaves the call to a route that asks for less', async () => {
    const { service } = await start({
      routes: [{ weight: 1 }, { weight: 0, prices: { input: '0', output: '0' } }],
    })
    const { status, text } = await service.ask({ max_tokens: Number.MAX_SAFE_INTEGER })
    expect([status, text]).toEqual([200, expect.stringContaining('I am p1')])
  })
})
