import { describe, expect, it } from 'vitest'
import { OwnTimers } from '../../src/engine/call/own-timers.js'
import type { Watched } from '../../src/engine/call/watchdog.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'

const START = 1_000

/** Checks again after each of these times, then never. */
function watched(...after: number[]): Watched & { readonly lookedAt: number[] } {
  const lookedAt: number[] = []
  return {
    slot: -1,
    deadline: Infinity,
    lookedAt,
    check(now) {
      lookedAt.push(now - START)
      return now + (after.shift() ?? Infinity)
    },
  }
}

describe('timers of each call', () => {
  it('check at once, and then when each call is due, with a timer for each', async () => {
    const clock = createSteppedClock(START)
    const timers = new OwnTimers(clock)
    const [slow, quick] = [watched(100, 50), watched(10, 0, 10)]
    timers.add(slow)
    timers.add(quick)
    expect(clock.pending).toBe(2)
    await clock.elapse(1_000)
    expect([slow.lookedAt, quick.lookedAt]).toEqual([
      [0, 100, 150],
      [0, 10, 11, 21],
    ])
    expect(clock.pending).toBe(0)
  })

  it('fire for a call although the timer of another one was lost with it', async () => {
    const clock = createSteppedClock(START)
    let isLost = true
    const timers = new OwnTimers({
      now: clock.now,
      after: (ms, run) => clock.after(ms, isLost ? () => undefined : run),
    })
    const [ended, running] = [watched(10), watched(20)]
    timers.add(ended)
    isLost = false
    timers.add(running)
    await clock.elapse(100)
    expect([ended.lookedAt, running.lookedAt]).toEqual([[0], [0, 20]])
  })

  it('leave none behind for calls that are removed, or when they are closed', () => {
    const clock = createSteppedClock(START)
    const timers = new OwnTimers(clock)
    const [one, other, never] = [watched(10), watched(20), watched()]
    for (const each of [one, other, never]) timers.add(each)
    timers.remove(one)
    timers.remove(never)
    expect(clock.pending).toBe(1)
    timers.close()
    expect(clock.pending).toBe(0)
  })
})
