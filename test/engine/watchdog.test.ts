import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Watchdog, type Watched } from '../../src/engine/call/watchdog.js'
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

describe('the watchdog', () => {
  it('checks at once, and then checks each item when it is due, with one timer for all', async () => {
    const clock = createSteppedClock(START)
    const watchdog = new Watchdog(clock)
    const [slow, quick] = [watched(100, 50), watched(10, 10, 10)]
    watchdog.add(slow)
    watchdog.add(quick)
    expect(clock.pending).toBe(1)
    await clock.elapse(1_000)
    expect(slow.lookedAt).toEqual([0, 100, 150])
    expect(quick.lookedAt).toEqual([0, 10, 20, 30])
    expect(clock.pending).toBe(0)
  })

  it('does not check removed items, and wakes at most once if all are removed', async () => {
    const clock = createSteppedClock(START)
    const watchdog = new Watchdog(clock)
    const [gone, kept] = [watched(10, 10), watched(20, 20)]
    watchdog.add(gone)
    watchdog.add(kept)
    watchdog.remove(gone)
    watchdog.remove(gone)
    await clock.elapse(25)
    expect([gone.lookedAt, kept.lookedAt]).toEqual([[0], [0, 20]])
    watchdog.remove(kept)
    await clock.elapse(20)
    expect(kept.lookedAt).toEqual([0, 20])
    expect(clock.pending).toBe(0)
  })

  it('leaves no timer behind when closed, and sets one again for later items', async () => {
    const clock = createSteppedClock(START)
    const watchdog = new Watchdog(clock)
    const [gone, later] = [watched(10), watched(10)]
    watchdog.add(gone)
    watchdog.remove(gone)
    watchdog.close()
    expect(clock.pending).toBe(0)
    watchdog.add(later)
    await clock.elapse(10)
    expect(later.lookedAt).toEqual([0, 10])
  })

  it('sets one timer for consecutive calls, which does not keep the process alive', () => {
    const timers: (string | undefined)[] = []
    const watchdog = new Watchdog({
      now: () => START,
      after(_ms, _run, background) {
        timers.push(background)
        return () => {}
      },
    })
    for (let call = 0; call < 3; call++) {
      const one = watched(10)
      watchdog.add(one)
      watchdog.remove(one)
    }
    expect(timers).toEqual(['background'])
  })

  it('checks at most every millisecond, however impatient a check is', async () => {
    const clock = createSteppedClock(START)
    const watchdog = new Watchdog(clock)
    const impatient = watched(0, -5, 0)
    watchdog.add(impatient)
    await clock.elapse(10)
    expect(impatient.lookedAt).toEqual([0, 1, 2, 3])
  })

  it('continues with the others if one check throws', async () => {
    const clock = createSteppedClock(START)
    const watchdog = new Watchdog(clock)
    let looks = 0
    const broken: Watched = {
      slot: -1,
      deadline: Infinity,
      check(now) {
        if (looks++ > 0) throw new Error('broken')
        return now + 10
      },
    }
    const sound = watched(20)
    watchdog.add(broken)
    watchdog.add(sound)
    await expect(clock.elapse(10)).rejects.toThrow('broken')
    await clock.elapse(10)
    expect(sound.lookedAt).toEqual([0, 20])
  })

  it('is never late, whatever is added and removed', async () => {
    const waits = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 4 })
    const lives = fc.array(fc.record({ startsAfter: fc.nat(15), waits, endsAfter: fc.nat(60) }), {
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(lives, async (calls) => {
        const clock = createSteppedClock(START)
        const watchdog = new Watchdog(clock)
        for (const { startsAfter, waits, endsAfter } of calls) {
          await clock.elapse(startsAfter)
          const startedAt = clock.now() - START
          const due = [startedAt]
          for (const wait of waits) due.push(due.at(-1)! + wait)
          const one = watched(...waits)
          watchdog.add(one)
          clock.after(endsAfter, () => {
            watchdog.remove(one)
            const seen = due.filter((at) => at < startedAt + endsAfter || at === startedAt)
            expect(one.lookedAt.filter((at) => at < startedAt + endsAfter || at === startedAt)).toEqual(seen)
          })
        }
        await clock.elapse(500)
        expect(clock.pending).toBe(0)
      }),
      { seed: 20_261_122, numRuns: 200 },
    )
  })
})
