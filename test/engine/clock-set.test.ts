import { connect } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { memoryLedger } from '../../src/index.js'
import { FaultPlan, faultyLedger } from '../helpers/faulty-ledger.js'
import { ALICE, startService } from '../routing/service.js'

const HOUR_MS = 3_600_000

/** A service on the machine's time, whose clock can be set. */
async function start(timeouts = {}) {
  const faults = new FaultPlan()
  const ledger = faultyLedger(memoryLedger({ alice: '1' }), systemClock, faults.decide)
  const service = await startService({ router: { ledger, timeouts } })
  onTestFinished(async () => {
    vi.restoreAllMocks()
    await service.close()
  })
  const set = (byMs: number): void => {
    const now = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => now() + byMs)
  }
  return { faults, service, set }
}

describe.each([
  ['back', -HOUR_MS],
  ['forward', HOUR_MS],
])('setting the clock %s during a call', (_, byMs) => {
  it('neither delays nor cancels the retry of its settlement', async () => {
    const { faults, service, set } = await start()
    faults.next('settle', 'throws', 'throws')
    const answer = service.ask()
    await faults.asked('settle')
    set(byMs)
    expect((await answer).status).toBe(200)
    expect([faults.count('settle'), service.router.openHolds]).toEqual([3, 0])
    expect(service.events.filter(({ type }) => type === 'charge-failed')).toEqual([])
    const { at, durationMs } = await service.end(await answer)
    expect(Math.abs(durationMs)).toBeLessThan(HOUR_MS / 2)
    expect(service.events).toContainEqual(
      expect.objectContaining({ type: 'request-start', at: at - durationMs }),
    )
  })

  it('does not delay a reply that is sent before its settlement is confirmed', async () => {
    const { faults, service, set } = await start({ settleWaitMs: 50, storeMs: 500 })
    faults.next('settle', 'hangs')
    const answer = service.ask()
    await faults.asked('settle')
    set(byMs)
    expect((await answer).status).toBe(200)
    expect(service.router.openHolds).toBe(1)
    await faults.asked('settle', 2)
    await expect.poll(() => service.router.openHolds).toBe(0)
  })

  it('changes the times in replies and events', async () => {
    const { service, set } = await start()
    await service.ask()
    set(byMs)
    const asked = Math.floor(Date.now() / 1_000)
    const { created } = JSON.parse((await service.ask()).text)
    expect(created - asked).toBeGreaterThanOrEqual(0)
    expect(created - asked).toBeLessThan(HOUR_MS / 2_000)
    const ends = service.events.flatMap((event) => (event.type === 'request-end' ? [event] : []))
    expect(Math.sign(ends[1]!.at - ends[0]!.at)).toBe(Math.sign(byMs))
  })
})

describe('setting the clock back during a silence', () => {
  it('gives a silent provider no more time', async () => {
    const { service, set } = await start({ idleMs: 300 })
    service.upstreams[0]!.script(['stall'])
    const answer = service.ask({ stream: true })
    await service.upstreams[0]!.nextRequest()
    set(-HOUR_MS)
    expect((await answer).status).toBe(504)
    expect(service.router.openHolds).toBe(0)
  })

  it('gives a silent client no more time', async () => {
    const { service, set } = await start({ bodyIdleMs: 200 })
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    const head = `POST /chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ALICE}\r\n`
    socket.write(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`)
    await expect.poll(() => service.events.length).toBe(1)
    set(-HOUR_MS)
    let sent = ''
    socket.setEncoding('utf8').on('data', (text) => {
      sent += text
    })
    await expect.poll(() => sent).toContain('HTTP/1.1 408')
  })
})
