import { describe, expect, it } from 'vitest'
import { andThen, DeadlinePassed, within } from '../../src/engine/asking/within.js'
import { createSteppedClock, turns } from '../helpers/stepped-clock.js'
import { thenable } from '../helpers/thenable.js'

describe('an answer awaited with a deadline', () => {
  it('sets no timer if the answer is already there', async () => {
    const clock = createSteppedClock()
    const answer = within(clock, 100, Promise.resolve('there'))
    const refusal = within(clock, 100, Promise.reject(new Error('no'))) as Promise<never>
    await expect(refusal).rejects.toThrow('no')
    await expect(answer).resolves.toBe('there')
    await turns(1)
    expect(clock.pending).toBe(0)
  })

  it('rejects with the given error if the then of a host throws or returns nothing', async () => {
    const broken = thenable({
      value() {
        throw new Error('No driver')
      },
    })
    const silent = thenable({ value: (give: (answer: string) => void) => give('there') })
    const explain = (error: unknown): unknown => [error]
    const ask = (answer: unknown) => within(createSteppedClock(), 100, answer as Promise<string>, explain)
    await expect(ask(broken)).rejects.toEqual([new Error('No driver')])
    await expect(andThen(silent as never, (answer: string) => `${answer}!`)).resolves.toBe('there!')
  })

  it('waits for a slow answer, and then releases its timer', async () => {
    const clock = createSteppedClock()
    let give = (_answer: string): void => {}
    const answer = within(clock, 100, new Promise<string>((resolve) => (give = resolve)))
    await clock.elapse(99)
    expect(clock.pending).toBe(1)
    give('late')
    await expect(answer).resolves.toBe('late')
    expect(clock.pending).toBe(0)
  })

  it('rejects at the deadline with the given error, and drops later answers', async () => {
    const clock = createSteppedClock()
    let give = (_answer: string): void => {}
    const slow = new Promise<string>((resolve) => (give = resolve))
    const answer = within(clock, 100, slow, (error) => [error]) as Promise<string>
    const told = expect(answer).rejects.toEqual([expect.any(DeadlinePassed)])
    await clock.elapse(100)
    give('too late')
    await told
  })

  it('ignores a later failure', async () => {
    const clock = createSteppedClock()
    let fail = (_error: Error): void => {}
    const slow = new Promise<string>((_resolve, reject) => (fail = reject))
    const explained: unknown[] = []
    const answer = within(clock, 100, slow, (error) => explained.push(error)) as Promise<string>
    const told = expect(answer).rejects.toBe(1)
    await clock.elapse(100)
    fail(new Error('given up'))
    await told
    await turns(1)
    expect(explained).toEqual([expect.any(DeadlinePassed)])
  })
})
