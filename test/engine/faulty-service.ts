import { onTestFinished } from 'vitest'
import { memoryLedger } from '../../src/index.js'
import { FaultPlan, faultyLedger } from '../helpers/faulty-ledger.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { type ServiceOptions, startService } from '../routing/service.js'

/** A service whose ledger fails on command, on a stopped clock. It ends with its test. */
export async function startFaultyService({ routes }: ServiceOptions = {}) {
  const clock = createSteppedClock()
  const faults = new FaultPlan()
  const ledger = faultyLedger(memoryLedger({ alice: '1' }, { clock }), clock, faults.decide)
  const service = await startService({ ...(routes && { routes }), router: { clock, ledger } })
  onTestFinished(() => service.close())
  return { clock, faults, ledger, service }
}
