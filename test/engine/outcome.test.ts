import { describe, expect, it } from 'vitest'
import { type CallEnd, type Outcome, outcome } from '../../src/engine/charging/outcome.js'

const ENDINGS: readonly CallEnd['ended'][] = ['finished', 'broken', 'left', 'stopped', 'cut']
const YES_NO = [false, true] as const

/** Every possible end of a call. */
const everyEnd: readonly CallEnd[] = ENDINGS.flatMap((ended) =>
  YES_NO.flatMap((streaming) =>
    YES_NO.flatMap((token) =>
      YES_NO.flatMap((finishReason) =>
        YES_NO.flatMap((reported) =>
          YES_NO.flatMap((complete) =>
            YES_NO.map((unreadable) => ({
              ended,
              streaming,
              token,
              finishReason,
              reported,
              complete,
              unreadable,
            })),
          ),
        ),
      ),
    ),
  ),
)

interface Row {
  readonly row: string
  fits(end: CallEnd): boolean
  readonly outcome: Outcome
}

/** The truth table of docs/charging.md, row by row. The first match decides. */
const TABLE: readonly Row[] = [
  {
    row: 'content of a stream could not be read, and usage was reported',
    fits: ({ streaming, unreadable, reported }) => streaming && unreadable && reported,
    outcome: { due: 'reported', reply: 'error' },
  },
  {
    row: 'content of a stream could not be read, and no usage was reported',
    fits: ({ streaming, unreadable }) => streaming && unreadable,
    outcome: { due: 'partial', reply: 'error' },
  },
  {
    row: 'the client is sent an HTTP error status, since the provider failed before the head of the reply was out',
    fits: ({ ended, streaming }) => ended === 'broken' && !streaming,
    outcome: { due: 'nothing', reply: 'error' },
  },
  {
    row: 'the client is sent an HTTP error status, since the call was stopped before the head of the reply was out',
    fits: ({ ended, streaming }) => ended === 'stopped' && !streaming,
    outcome: { due: 'nothing', reply: 'error' },
  },
  {
    row: 'every route failed before the first token, whatever they reported',
    fits: ({ ended, token }) => ended === 'broken' && !token,
    outcome: { due: 'nothing', reply: 'error' },
  },
  {
    row: 'finished, no token, no usage, but a finish reason',
    fits: ({ ended, token, reported, finishReason }) =>
      ended === 'finished' && !token && !reported && finishReason,
    outcome: { due: 'nothing', reply: 'whole' },
  },
  {
    row: 'finished, no token, no usage, no finish reason',
    fits: ({ ended, token, reported }) => ended === 'finished' && !token && !reported,
    outcome: { due: 'nothing', reply: 'error' },
  },
  {
    row: 'finished, usage reported; also where the client left after that, or was read on for',
    fits: ({ ended, reported }) => ended === 'finished' && reported,
    outcome: { due: 'reported', reply: 'whole' },
  },
  {
    row: 'finished, no usage reported; also where the client left after that, or was read on for',
    fits: ({ ended }) => ended === 'finished',
    outcome: { due: 'estimated', reply: 'whole' },
  },
  {
    row: 'the provider broke after the first token, having reported both prompt and completion',
    fits: ({ ended, reported, complete }) => ended === 'broken' && reported && complete,
    outcome: { due: 'reported', reply: 'error' },
  },
  {
    row: 'the provider broke after the first token, not having reported',
    fits: ({ ended }) => ended === 'broken',
    outcome: { due: 'nothing', reply: 'error' },
  },
  {
    row: 'the client left before the first token, and the provider was hung up on',
    fits: ({ ended, token }) => ended === 'left' && !token,
    outcome: { due: 'nothing', reply: 'error' },
  },
  {
    row: 'the client left after the first token, and the provider was hung up on',
    fits: ({ ended }) => ended === 'left',
    outcome: { due: 'partial', reply: 'error' },
  },
  {
    row: 'the total deadline or a shutdown, the stream open but without a token',
    fits: ({ ended, token }) => ended === 'stopped' && !token,
    outcome: { due: 'nothing', reply: 'error' },
  },
  {
    row: 'the total deadline or a shutdown in the middle of a stream',
    fits: ({ ended }) => ended === 'stopped',
    outcome: { due: 'partial', reply: 'error' },
  },
  {
    row: 'the cost of a stream has reached the hold, under neverOverdraw',
    fits: ({ ended }) => ended === 'cut',
    outcome: { due: 'partial', reply: 'length' },
  },
]

describe.each(TABLE)('the outcome row $row', (row) => {
  const decided = everyEnd.filter((end) => TABLE.find(({ fits }) => fits(end)) === row)

  it('decides at least one end of a call', () => {
    expect(decided).not.toEqual([])
  })

  it.each(decided)(
    '$ended, streaming $streaming, token $token, finish reason $finishReason, reported $reported, unreadable $unreadable',
    (end) => {
      expect(outcome(end)).toEqual(row.outcome)
    },
  )
})

describe('the truth table', () => {
  it('charges no estimate for a fault of the provider', () => {
    const estimates = everyEnd
      .filter(({ ended, unreadable }) => ended === 'broken' && !unreadable)
      .map((end) => outcome(end).due)
    expect(new Set(estimates)).toEqual(new Set(['nothing', 'reported']))
  })

  it('charges nothing if nothing arrived and nothing was reported, except after a cut', () => {
    const empty = everyEnd.filter(
      ({ ended, token, reported, unreadable }) => ended !== 'cut' && !token && !reported && !unreadable,
    )
    expect(new Set(empty.map((end) => outcome(end).due))).toEqual(new Set(['nothing']))
  })

  it('never sends a complete reply for a call that did not finish', () => {
    const unfinished = everyEnd.filter(({ ended }) => ended !== 'finished')
    expect(unfinished.map((end) => outcome(end).reply)).not.toContain('whole')
  })
})
