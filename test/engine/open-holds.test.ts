import { describe, expect, it } from 'vitest'
import { fails } from '../routing/service.js'
import { startFaultyService } from './faulty-service.js'

describe("a router's number of open holds", () => {
  it('counts those of its running calls, however many routes each call takes', async () => {
    const dear = { input: '1000', output: '1000' }
    const { faults, service } = await startFaultyService({ routes: [{}, { prices: dear }] })
    const counted: number[] = []
    const { openHolds } = service.router
    service.upstreams[0]!.script(fails(503))
    service.upstreams[1]!.script((reply) => {
      counted.push(service.router.openHolds)
      reply.head(500)
      reply.end()
    })
    await service.end(await service.ask({ max_tokens: 10 }))
    expect([openHolds, counted, faults.count('hold')]).toEqual([0, [1], 2])
    expect(service.router.openHolds).toBe(0)
  })

  it('excludes calls whose hold was refused', async () => {
    const { service } = await startFaultyService()
    expect((await service.ask({ max_tokens: 1_000_000 })).status).toBe(402)
    expect(service.router.openHolds).toBe(0)
  })

  it('excludes calls whose hold may not have been taken', async () => {
    const { faults, service } = await startFaultyService()
    faults.next('hold', 'answer-lost', 'throws')
    expect((await service.ask()).status).toBe(503)
    expect((await service.ask()).status).toBe(503)
    await faults.asked('release', 2)
    expect(service.router.openHolds).toBe(0)
  })

  it('includes calls whose charge is being retried, until it succeeds or is abandoned', async () => {
    const { clock, faults, service } = await startFaultyService()
    faults.next('settle', 'throws').next('settle', undefined)
    const answer = service.ask()
    await faults.asked('settle')
    expect(service.router.openHolds).toBe(1)
    await clock.elapse(100)
    expect((await answer).status).toBe(200)
    expect(service.router.openHolds).toBe(0)

    faults.always('settle', 'throws')
    const unsettled = service.ask()
    await faults.asked('settle', 3)
    await clock.elapse(2_000)
    expect((await unsettled).status).toBe(200)
    expect(service.router.openHolds).toBe(1)
    await clock.elapse(60_000)
    expect(service.events.filter(({ type }) => type === 'charge-failed')).toHaveLength(1)
    expect(service.router.openHolds).toBe(0)
  })
})
