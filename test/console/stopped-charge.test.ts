import { afterEach, describe, expect, it, vi } from 'vitest'
import { stoppedCharge } from '../../src/console/ui/playground/stopped-charge.js'
import { DEFAULTS } from '../../src/options.js'

describe('in the playground, the charge of a stopped call', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const { settleMs, totalMs } = DEFAULTS.timeouts

  it.each([settleMs, totalMs + settleMs])('is awaited if it arrives after %i ms', async (afterMs) => {
    vi.useFakeTimers()
    const startedAt = Date.now()
    let looks = 0
    const look = async () => {
      looks++
      if (looks === 2) throw new TypeError('The network is away')
      return Date.now() - startedAt < afterMs ? undefined : {}
    }
    const found = stoppedCharge(look, () => false)
    await vi.advanceTimersByTimeAsync(afterMs + 35_000)
    expect(await found).toMatchObject({ cost: '0' })
    expect(looks).toBeLessThan(60)
  })

  it('is no longer looked for once the page is closed', async () => {
    const look = () => expect.unreachable()
    expect(await stoppedCharge(look, () => true)).toBeUndefined()
  })
})
