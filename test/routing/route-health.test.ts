import { describe, expect, it } from 'vitest'
import type { CallResult } from '../../src/engine/routing/route-health.js'
import { FAILED, FINE, healthBook, OUT, route, THREE_FAILURES } from './unit-routes.js'

const a = route('a')

describe('the measurements of a route', () => {
  it('are absent until a call has provided some', () => {
    const { book } = healthBook()
    expect(book.snapshot()).toEqual([])
    book.giveBack(book.begin(a, 'alice'))
    expect(book.snapshot()).toEqual([])
    book.end(book.begin(a, 'alice'), undefined)
    expect(book.snapshot()).toEqual([{ routeId: 'a', provider: 'a', state: 'closed', failureRate: 0 }])
    expect(book.average(a, 'firstTokenMs')).toBeUndefined()
  })

  it('are moving averages in which the latest call counts for a fifth', () => {
    const { book, tell } = healthBook()
    tell(a, { ok: true, firstTokenMs: 100, tokensPerSecond: 50 })
    tell(a, { ok: true, firstTokenMs: 200, tokensPerSecond: 100 })
    expect(book.snapshot()).toEqual([
      {
        routeId: 'a',
        provider: 'a',
        state: 'closed',
        firstTokenMs: 120,
        tokensPerSecond: 60,
        failureRate: 0,
      },
    ])
    tell(a, FAILED)
    expect(book.snapshot()[0]).toMatchObject({ firstTokenMs: 120, failureRate: 0.2 })
    tell(a, FINE)
    expect(book.snapshot()[0]!.failureRate).toBeCloseTo(0.16)
  })

  it('no longer affect the choice after ten minutes, and start again', () => {
    const { book, clock, tell } = healthBook()
    tell(a, { ok: true, firstTokenMs: 100 })
    clock.advance(600_000)
    expect(book.average(a, 'firstTokenMs')).toBe(100)
    clock.advance(1)
    expect(book.average(a, 'firstTokenMs')).toBeUndefined()
    tell(a, { ok: true, firstTokenMs: 500 })
    expect(book.average(a, 'firstTokenMs')).toBe(500)
  })
})

describe("a route's breaker", () => {
  it('opens after three failures in a row, and not after two', () => {
    const { book, tell } = healthBook()
    tell(a, FAILED, FAILED, FINE, FAILED, FAILED)
    expect(book.troubleOf(a)).toBeUndefined()
    tell(a, FAILED)
    expect(book.troubleOf(a)).toBe('breaker open')
    expect(book.snapshot()[0]!.state).toBe('open')
  })

  it('opens if half of the calls fail, even if never three in a row', () => {
    const { book, tell } = healthBook()
    for (let round = 0; round < 3; round++) tell(a, FAILED, FAILED, FINE)
    expect(book.troubleOf(a)).toBeUndefined()
    tell(a, FAILED)
    expect(book.troubleOf(a)).toBe('breaker open')
  })

  it('is half-open after five seconds, when one call passes as a probe', () => {
    const { book, clock, tell } = healthBook()
    tell(a, ...THREE_FAILURES)
    clock.advance(4_999)
    expect(book.troubleOf(a)).toBe('breaker open')
    clock.advance(1)
    expect(book.troubleOf(a)).toBeUndefined()
    expect(book.snapshot()[0]!.state).toBe('half-open')
    const probe = book.begin(a, 'alice')
    expect(book.troubleOf(a)).toBe('probe under way')
    tell(a, FAILED)
    expect(book.troubleOf(a)).toBe('probe under way')
    book.end(probe, FINE)
    expect(book.troubleOf(a)).toBeUndefined()
    expect(book.snapshot()[0]!.state).toBe('closed')
  })

  it('stays half-open after an inconclusive probe, so that the next call is a probe', () => {
    const { book, clock, tell } = healthBook()
    tell(a, ...THREE_FAILURES)
    clock.advance(5_000)
    book.end(book.begin(a, 'alice'), undefined)
    expect(book.troubleOf(a)).toBeUndefined()
    book.begin(a, 'alice')
    expect(book.troubleOf(a)).toBe('probe under way')
  })

  it('doubles the wait after each failed probe, up to a minute, and starts at five seconds again once closed', () => {
    const { book, clock, tell } = healthBook()
    tell(a, ...THREE_FAILURES)
    for (const seconds of [5, 10, 20, 40, 60, 60]) {
      clock.advance(seconds * 1_000 - 1)
      expect(book.troubleOf(a), `before ${seconds} s`).toBe('breaker open')
      clock.advance(1)
      expect(book.troubleOf(a), `after ${seconds} s`).toBeUndefined()
      tell(a, FAILED)
    }
    clock.advance(60_000)
    tell(a, FINE, ...THREE_FAILURES)
    clock.advance(5_000)
    expect(book.troubleOf(a)).toBeUndefined()
  })

  it('opens once for a burst of calls that fail together', () => {
    const { book, clock } = healthBook()
    const burst = Array.from({ length: 50 }, () => book.begin(a, 'alice'))
    for (const visit of burst) book.end(visit, FAILED)
    clock.advance(5_000)
    expect(book.troubleOf(a)).toBeUndefined()
  })

  it('is not closed by a call that started before it opened', () => {
    const { book, tell } = healthBook()
    const long = book.begin(a, 'alice')
    tell(a, ...THREE_FAILURES)
    book.end(long, FINE)
    expect(book.troubleOf(a)).toBe('breaker open')
  })

  it('is closed by a call that started after it opened, probe or not', () => {
    const { book, tell } = healthBook()
    tell(a, ...THREE_FAILURES)
    tell(a, FINE)
    expect(book.troubleOf(a)).toBeUndefined()
  })

  it('belongs to a single route', () => {
    const { book, tell } = healthBook()
    tell(a, ...THREE_FAILURES)
    expect(book.troubleOf(route('b'))).toBeUndefined()
    expect(book.troubleOf(route('a:2'))).toBeUndefined()
  })
})

describe('a route whose provider is down, in its health record,', () => {
  const out = (...accounts: string[]) => {
    const made = healthBook()
    for (const account of accounts) made.book.end(made.book.begin(a, account), OUT)
    return made
  }

  it('refuses calls after three outages, until a probe is due', () => {
    const { book, clock } = out('alice', 'bob')
    expect(book.refusal(a, 'alice')).toBeUndefined()
    book.end(book.begin(a, 'alice'), OUT)
    clock.advance(1_000)
    expect(book.refusal(a, 'alice')).toEqual({ why: 'breaker open', waitMs: 4_000 })
    expect(book.refusal(a, 'carol')).toEqual({ why: 'breaker open', waitMs: 4_000 })
    clock.advance(4_000)
    expect(book.refusal(a, 'carol')).toBeUndefined()
  })

  it('accepts one probe per interval, even if the one before has not ended', () => {
    const { book, clock } = out('alice', 'bob', 'alice')
    clock.advance(5_000)
    const first = book.begin(a, 'alice')
    expect(first.isProbe).toBe(true)
    clock.advance(2_000)
    expect(book.refusal(a, 'alice')).toEqual({ why: 'probe under way', waitMs: 3_000 })
    clock.advance(3_000)
    expect(book.refusal(a, 'alice')).toBeUndefined()
    const second = book.begin(a, 'alice')
    expect(second.isProbe).toBe(true)
    book.end(first, undefined)
    expect(book.refusal(a, 'alice')).toEqual({ why: 'probe under way', waitMs: 5_000 })
    book.end(second, undefined)
    expect(book.refusal(a, 'alice')).toBeUndefined()
  })

  it('opens for longer after a failed probe, once for all probes of the same opening', () => {
    const { book, clock } = out('alice', 'bob', 'alice')
    clock.advance(5_000)
    const first = book.begin(a, 'alice')
    clock.advance(5_000)
    const second = book.begin(a, 'alice')
    book.end(first, OUT)
    expect(book.refusal(a, 'alice')).toEqual({ why: 'breaker open', waitMs: 10_000 })
    clock.advance(1_000)
    book.end(second, OUT)
    expect(book.refusal(a, 'alice')).toEqual({ why: 'breaker open', waitMs: 9_000 })
  })

  it('accepts calls again from the first token of a probe on', () => {
    const { book, clock } = out('alice', 'bob', 'alice')
    clock.advance(5_000)
    const probe = book.begin(a, 'alice')
    book.answered(probe)
    expect(book.refusal(a, 'bob')).toBeUndefined()
    expect(book.troubleOf(a)).toBeUndefined()
    book.end(probe, { ok: false })
    expect(book.troubleOf(a)).toBeUndefined()
  })

  it('is not closed by the first token of another call', () => {
    const { book } = healthBook()
    const long = book.begin(a, 'alice')
    for (let call = 0; call < 3; call++) book.end(book.begin(a, 'alice'), OUT)
    book.answered(long)
    expect(book.refusal(a, 'alice')).toMatchObject({ why: 'breaker open' })
  })

  it('refuses only the account whose calls failed, until those of another fail too', () => {
    const { book } = out('alice', 'alice', 'alice')
    expect(book.refusal(a, 'alice')).toMatchObject({ why: 'breaker open' })
    expect(book.refusal(a, 'bob')).toBeUndefined()
    book.end(book.begin(a, 'bob'), OUT)
    expect(book.refusal(a, 'bob')).toMatchObject({ why: 'breaker open' })
    expect(book.refusal(a, 'carol')).toMatchObject({ why: 'breaker open' })
  })

  it('accepts calls as long as it answers some of them', () => {
    const { book, clock, tell } = healthBook()
    for (let round = 0; round < 20; round++) {
      tell(a, FINE)
      for (let call = 0; call < 9; call++) {
        expect(book.refusal(a, 'alice')).toBeUndefined()
        tell(a, OUT)
      }
    }
    expect(book.troubleOf(a)).toBe('breaker open')
    tell(a, OUT)
    expect(book.refusal(a, 'alice')).toMatchObject({ why: 'breaker open' })
    tell(a, FINE, OUT, OUT, OUT)
    clock.advance(4_999)
    expect(book.refusal(a, 'alice')).toBeUndefined()
    expect(book.troubleOf(a)).toBe('breaker open')
  })

  it('refuses calls after three outages if its last success is five seconds old', () => {
    const { book, clock, tell } = healthBook()
    tell(a, FINE)
    clock.advance(5_000)
    tell(a, OUT, OUT, OUT)
    expect(book.refusal(a, 'alice')).toMatchObject({ why: 'breaker open' })
  })

  it('is not one whose provider limits its rate or breaks off replies', () => {
    const { book, tell } = healthBook()
    tell(a, OUT, OUT, ...Array<CallResult>(20).fill(FAILED))
    expect(book.troubleOf(a)).toBe('breaker open')
    expect(book.refusal(a, 'alice')).toBeUndefined()
  })
})

describe("a route's retry-after", () => {
  it('is remembered until it ends', () => {
    const { book, clock, tell } = healthBook()
    tell(a, { ok: false, retryAfterSeconds: 30 })
    clock.advance(29_999)
    expect(book.troubleOf(a)).toBe('retry-after')
    clock.advance(1)
    expect(book.troubleOf(a)).toBeUndefined()
  })

  it('is not shortened by a later one that ends earlier', () => {
    const { book, clock, tell } = healthBook()
    tell(a, { ok: false, retryAfterSeconds: 30 }, { ok: false, retryAfterSeconds: 1 })
    clock.advance(29_000)
    expect(book.troubleOf(a)).toBe('retry-after')
  })

  it('counts for ten minutes at most', () => {
    const { book, clock, tell } = healthBook()
    tell(a, { ok: false, retryAfterSeconds: 999_999_999 })
    clock.advance(600_000)
    expect(book.troubleOf(a)).toBeUndefined()
  })

  it.each([0, -5, Number.NaN])('of %s seconds is ignored', (retryAfterSeconds) => {
    const { book, tell } = healthBook()
    tell(a, { ok: false, retryAfterSeconds })
    expect(book.troubleOf(a)).toBeUndefined()
  })
})
