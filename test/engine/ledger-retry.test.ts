import { describe, expect, it } from 'vitest'
import type { LazyContext } from '../../src/engine/asking/lazy-context.js'
import { LedgerRetry } from '../../src/engine/charging/ledger-retry.js'
import { DEFAULTS } from '../../src/options.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { thenable } from '../helpers/thenable.js'

interface Try {
  readonly context: LazyContext
  answer(value: string): void
  fail(error: Error): void
}

/** A request that is tried until it succeeds, with each try answered by the test. */
function start() {
  const clock = createSteppedClock()
  const timeouts = { ...DEFAULTS.timeouts, storeMs: 200, settleWaitMs: 1_000, settleMs: 5_000 }
  const tries: Try[] = []
  const told: string[] = []
  const answer = new LedgerRetry<string>(
    { clock, timeouts },
    {
      requestId: 'one',
      ask: (context) =>
        new Promise((answer, fail) => {
          tries.push({ context, answer, fail })
        }),
      read(answer) {
        told.push(`read ${answer}`)
        if (answer === 'bad') throw new Error('A bad answer')
        return answer.toUpperCase()
      },
      gaveUp: (error) => told.push(`gave up: ${(error as Error).message}`),
    },
    () => told.push('ended'),
  ).start()
  void Promise.resolve(answer).then((value) => told.push(`answer ${value}`))
  return { clock, tries, told }
}

const fail = (): never => {
  throw new Error('No driver')
}

describe('a request to the ledger', () => {
  it.each([
    ['throws', { value: fail }],
    ['cannot be read', { get: fail }],
  ])('is repeated if the then of its answer %s', async (_what, then) => {
    const clock = createSteppedClock()
    const answers: unknown[] = [thenable(then), 'charged']
    const answer = new LedgerRetry<unknown>(
      { clock, timeouts: DEFAULTS.timeouts },
      { requestId: 'one', ask: () => answers.shift(), gaveUp: () => undefined },
      () => undefined,
    ).start()
    await clock.elapse(1_000)
    expect(await answer).toBe('charged')
    expect(clock.pending).toBe(0)
  })

  it('ends with the answer to an earlier try, and sends no more', async () => {
    const { clock, tries, told } = start()
    await clock.elapse(300)
    expect(tries).toHaveLength(2)
    tries[0]!.answer('late')
    await clock.elapse(0)
    expect(told).toEqual(['read late', 'ended', 'answer LATE'])
    expect([tries[1]!.context.hasEnded, clock.pending]).toEqual([true, 0])
    await clock.elapse(10_000)
    expect(tries).toHaveLength(2)
  })

  it('ends with a late answer that arrives before the next try', async () => {
    const { clock, tries, told } = start()
    await clock.elapse(250)
    tries[0]!.answer('late')
    await clock.elapse(10_000)
    expect(told).toEqual(['read late', 'ended', 'answer LATE'])
    expect([tries.length, clock.pending]).toEqual([1, 0])
  })

  it('ends once, whatever its other tries return', async () => {
    const { clock, tries, told } = start()
    await clock.elapse(700)
    expect(tries).toHaveLength(3)
    tries[1]!.answer('second')
    await clock.elapse(0)
    tries[0]!.answer('first')
    tries[2]!.fail(new Error('aborted'))
    await clock.elapse(10_000)
    expect(told).toEqual(['read second', 'ended', 'answer SECOND'])
  })

  it('is not disturbed by an earlier try that fails late or gets a bad answer', async () => {
    const { clock, tries, told } = start()
    await clock.elapse(700)
    tries[0]!.fail(new Error('lost'))
    tries[1]!.answer('bad')
    await clock.elapse(100)
    expect([tries.length, tries[2]!.context.hasEnded]).toEqual([3, false])
    tries[2]!.answer('good')
    await clock.elapse(10_000)
    expect(told).toEqual(['read bad', 'read good', 'ended', 'answer GOOD'])
  })

  it('is abandoned in time, and a later answer is read but does not end it again', async () => {
    const { clock, tries, told } = start()
    await clock.elapse(5_000)
    const end = ['answer undefined', 'gave up: No answer within 200 ms, which is timeouts.storeMs.', 'ended']
    expect(told).toEqual(end)
    for (const { answer } of tries) answer('too late')
    await clock.elapse(10_000)
    expect(told).toEqual([...end, 'read too late'])
  })

  it.each<[string, () => string]>([
    [
      'throws',
      () => {
        throw new Error('lost')
      },
    ],
    ['returns an unreadable answer', () => 'bad'],
  ])('asks a synchronous store again if the store %s', async (_what, first) => {
    const options = { clock: createSteppedClock(), timeouts: DEFAULTS.timeouts }
    const told: unknown[] = []
    let asked = 0
    const request = {
      requestId: 'one',
      ask: (): string => (asked++ === 0 ? first() : 'posted'),
      read(answer: string): string {
        if (answer === 'bad') throw new Error('A bad answer')
        return answer
      },
      gaveUp: () => told.push('gave up'),
    }
    const answer = new LedgerRetry(options, request, () => told.push('ended')).start()
    void Promise.resolve(answer).then((value) => told.push(value))
    await options.clock.elapse(0)
    expect(told).toEqual([])
    await options.clock.elapse(10_000)
    expect([asked, told, options.clock.pending]).toEqual([2, ['ended', 'posted'], 0])
  })

  it('is abandoned at once if a store throws synchronously and no time is left for another try', async () => {
    const options = { clock: createSteppedClock(), timeouts: { ...DEFAULTS.timeouts, settleMs: 50 } }
    const told: string[] = []
    const request = {
      requestId: 'one',
      ask: (): string => {
        throw new Error('lost')
      },
      gaveUp: (error: unknown) => told.push(`gave up: ${(error as Error).message}`),
    }
    const answer = new LedgerRetry(options, request, () => told.push('ended')).start()
    expect([told, options.clock.pending]).toEqual([['gave up: lost', 'ended'], 0])
    expect(await answer).toBeUndefined()
  })

  it("gets a synchronous store's answer at once, and ends", async () => {
    const options = { clock: createSteppedClock(), timeouts: DEFAULTS.timeouts }
    const told: string[] = []
    const request = { requestId: 'one', ask: () => 'posted', gaveUp: () => told.push('gave up') }
    const answer = new LedgerRetry(options, request, () => told.push('ended')).start()
    expect([told, options.clock.pending]).toEqual([['ended'], 0])
    expect(await answer).toBe('posted')
  })
})
