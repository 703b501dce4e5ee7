import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryLedger } from '../../src/index.js'
import { FaultPlan, faultyLedger } from '../helpers/faulty-ledger.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { ALICE, MODEL, startService } from '../routing/service.js'

const HOUR_MS = 3_600_000

/**
 * A service on a clock that can be set back: its timers run all the same. What passed before may be waited for again, so
 * that a deadline comes after twice its time at the latest.
 */
async function start() {
  const stepped = createSteppedClock()
  let behindMs = 0
  const clock = { now: () => stepped.now() - behindMs, after: stepped.after }
  const faults = new FaultPlan()
  const ledger = faultyLedger(memoryLedger({ alice: '1' }, { clock }), clock, faults.decide)
  const service = await startService({ router: { clock, ledger } })
  onTestFinished(() => service.close())
  const setBack = (): void => {
    behindMs += HOUR_MS
  }
  return { clock, faults, service, setBack, stepped }
}

describe('a clock that is set back while a call is under way', () => {
  it('delays neither the next try of its settlement nor the reply that waits for it', async () => {
    const { faults, service, setBack, stepped } = await start()
    faults.next('settle', 'throws')
    const answer = service.ask()
    await faults.asked('settle')
    setBack()
    await stepped.elapse(2 * 100)
    expect((await answer).status).toBe(200)
    expect([faults.count('settle'), service.router.openHolds]).toEqual([2, 0])

    faults.always('settle', 'throws')
    const late = service.ask()
    await faults.asked('settle', 3)
    setBack()
    await stepped.elapse(2 * 2_000)
    expect((await late).status).toBe(200)
    faults.heal()
    await stepped.elapse(5_000)
    expect(service.router.openHolds).toBe(0)
  })

  it('gives a provider that has fallen silent no more time', async () => {
    const { service, setBack, stepped } = await start()
    service.upstreams[0]!.script(['stall'])
    const answer = service.ask()
    await service.upstreams[0]!.nextRequest()
    setBack()
    await stepped.elapse(2 * 120_000)
    expect((await answer).status).toBe(504)
    expect(service.router.openHolds).toBe(0)
  })

  it('gives a client that sends no more of its request no more time', async () => {
    const { service, setBack, stepped } = await start()
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    const head = `POST /chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ALICE}\r\n`
    const timers = stepped.pending
    socket.write(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`)
    await expect.poll(() => stepped.pending).toBeGreaterThan(timers)
    setBack()
    let sent = ''
    socket.setEncoding('utf8').on('data', (text) => {
      sent += text
    })
    await stepped.elapse(2 * 15_000)
    await expect.poll(() => sent).toContain('HTTP/1.1 408')
  })

  it('tells the new time, and not that of its deadlines', async () => {
    const { clock, service, setBack } = await start()
    await service.ask()
    setBack()
    const reply = JSON.parse((await service.ask()).text)
    expect(reply).toMatchObject({ model: MODEL, created: Math.floor(clock.now() / 1_000) })
    const at = service.events.flatMap((event) => (event.type === 'request-end' ? [event.at] : []))
    expect(at[1]! - at[0]!).toBe(-HOUR_MS)
  })
})
