import { describe, expect, it } from 'vitest'
import { type UsageBounds, UsageMeter } from '../../src/engine/charging/usage-meter.js'

const ESTIMATES = { prompt: 40, completion: 5 }

function meter(bounds: UsageBounds = { contextLength: 1_000, maxOutputTokens: 100, n: 1 }) {
  const implausible: [string, unknown][] = []
  const note = (field: string, value: unknown) => void implausible.push([field, value])
  return { implausible, usage: new UsageMeter(bounds, note, note) }
}

describe('the usage meter', () => {
  it('uses the largest value of each field of several snapshots, never the sum', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    usage.snapshot({ prompt: 12, completion: 7, reasoning: 3 }, false)
    usage.snapshot({ prompt: 10, completion: 9 }, true)
    expect(usage.asReported(ESTIMATES)).toEqual({
      usage: { prompt: 12, cached: 0, cacheWrite: 0, completion: 9, reasoning: 3 },
      basis: 'reported',
    })
  })

  it('keeps a reported zero', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 0, completion: 0 }, true)
    expect(usage.reported(true)).toBe(true)
    expect(usage.asReported(ESTIMATES).usage).toMatchObject({ prompt: 0, completion: 0 })
  })

  it.each([-1, 0.5, '9', 1e30, Number.NaN, true, {}, 10_000_001])(
    'treats a prompt of %s as missing and reports it',
    (value) => {
      const { implausible, usage } = meter()
      usage.snapshot({ prompt: value, completion: 3 }, true)
      expect(implausible).toEqual([['prompt', value]])
      expect(usage.asReported(ESTIMATES)).toEqual({
        usage: { prompt: 40, cached: 0, cacheWrite: 0, completion: 3, reasoning: 0 },
        basis: 'estimated',
      })
    },
  )

  it('reports an invalid count once, however often a provider repeats it', () => {
    const { implausible, usage } = meter()
    for (let chunk = 0; chunk < 100; chunk++) usage.snapshot({ prompt: 0.5 + chunk, completion: -1 }, false)
    expect(implausible).toEqual([
      ['prompt', 0.5],
      ['completion', -1],
    ])
  })

  it('charges more than the catalogue lists, since the provider bills it, and reports that', () => {
    const { implausible, usage } = meter({ contextLength: 1_000, maxOutputTokens: 100, n: 3 })
    usage.snapshot({ prompt: 1_000, completion: 300 }, false)
    expect(implausible).toEqual([])
    usage.snapshot({ prompt: 1_001, completion: 20_000 }, true)
    expect(implausible).toEqual([
      ['prompt', 1_001],
      ['completion', 20_000],
    ])
    expect(usage.asReported(ESTIMATES)).toMatchObject({
      usage: { prompt: 1_001, completion: 20_000 },
      basis: 'reported',
    })
  })

  it('accepts as many tokens for a choice as for a prompt, and no more', () => {
    const { implausible, usage } = meter({ n: 2 })
    usage.snapshot({ prompt: 10_000_000, completion: 20_000_000, total: 30_000_000 }, true)
    expect(implausible).toEqual([])
    usage.snapshot({ prompt: 10_000_001, completion: 20_000_001, total: 30_000_001 }, true)
    expect(implausible.map(([field]) => field)).toEqual(['prompt', 'completion', 'total'])
    expect(usage.asReported(ESTIMATES).usage).toMatchObject({ prompt: 10_000_000, completion: 20_000_000 })
  })

  it.each([
    [
      { prompt: 30, total: 37 },
      { prompt: 30, completion: 7 },
    ],
    [
      { completion: 7, total: 37 },
      { prompt: 30, completion: 7 },
    ],
    [
      { prompt: -1, completion: 7, total: 37 },
      { prompt: 30, completion: 7 },
    ],
    [
      { prompt: 30, completion: '7', total: 37 },
      { prompt: 30, completion: 7 },
    ],
    [
      { prompt: 30, completion: 7, total: 90 },
      { prompt: 30, completion: 7 },
    ],
  ])('computes the count missing in %j from the total', (report, counts) => {
    const { usage } = meter()
    usage.snapshot(report, true)
    expect(usage.complete).toBe(true)
    expect(usage.asReported(ESTIMATES)).toMatchObject({ usage: counts, basis: 'reported' })
  })

  it.each([
    { prompt: 30, total: 29 },
    { completion: 7, total: 6 },
    { prompt: 30, total: '37' },
    { prompt: 30, total: 1e9 },
    { total: 37 },
  ])('computes none from an impossible total: %j', (report) => {
    const { usage } = meter()
    usage.snapshot(report, true)
    expect(usage.complete).toBe(false)
  })

  it('does not let a total change a prompt that was already reported', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    usage.snapshot({ completion: 7, total: 100 }, true)
    expect(usage.asReported(ESTIMATES).usage).toMatchObject({ prompt: 12, completion: 7 })
  })

  it('reports cached tokens under an unknown name', () => {
    const { implausible, usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1, unread: { new_cache_tokens: 5 } }, true)
    expect(implausible).toEqual([['new_cache_tokens', 5]])
  })

  it('treats missing details as zero and clamps parts to their totals', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 10, cached: 20, cacheWrite: 5, completion: 4, reasoning: 9 }, true)
    expect(usage.asReported(ESTIMATES).usage).toEqual({
      prompt: 10,
      cached: 10,
      cacheWrite: 0,
      completion: 4,
      reasoning: 4,
    })
  })

  it('has audio and image tokens only if there are any, clamped to their totals', () => {
    const { implausible, usage } = meter()
    usage.snapshot({ prompt: 10, completion: 8, audioInput: 4, imageInput: 0, audioOutput: null }, false)
    usage.snapshot({ imageInput: 9, audioOutput: 6, imageOutput: 1 }, true)
    const text = { prompt: 10, cached: 0, cacheWrite: 0, completion: 8, reasoning: 0 }
    const expected = { ...text, audioInput: 4, imageInput: 6, audioOutput: 6, imageOutput: 1 }
    expect(usage.asReported(ESTIMATES).usage).toStrictEqual(expected)
    usage.snapshot({ audioInput: 'some', audioOutput: 2.5, imageOutput: -1 }, true)
    expect(implausible).toEqual([
      ['imageInput', 9],
      ['audioInput', 'some'],
      ['audioOutput', 2.5],
      ['imageOutput', -1],
    ])
    expect(usage.asReported(ESTIMATES).usage).toStrictEqual(expected)

    const none = meter().usage
    none.snapshot({ prompt: 10, completion: 8, audioInput: 0, imageOutput: 0 }, true)
    expect(none.asReported(ESTIMATES).usage).toStrictEqual(text)
    const all = meter().usage
    all.snapshot({ prompt: 10, completion: 8, audioInput: 10, audioOutput: 11, imageOutput: 4 }, true)
    all.snapshot({ imageInput: 3 }, true)
    expect(all.asReported(ESTIMATES).usage).toStrictEqual({ ...text, audioInput: 10, audioOutput: 8 })
  })

  it('also clamps a part that is larger than any total may be', () => {
    const { implausible, usage } = meter()
    usage.snapshot({ prompt: 10, cached: 1_001, completion: 4, reasoning: 101 }, true)
    expect(usage.asReported(ESTIMATES).usage).toMatchObject({
      prompt: 10,
      cached: 10,
      completion: 4,
      reasoning: 4,
    })
    expect(implausible).toEqual([
      ['cached', 1_001],
      ['reasoning', 101],
    ])
  })

  it('reports each part that is larger than its total', () => {
    const { implausible, usage } = meter()
    usage.snapshot({ prompt: 10, cached: 6, cacheWrite: 5, completion: 4 }, true)
    usage.snapshot({ audioInput: 11, audioOutput: 3, imageOutput: 2 }, true)
    usage.snapshot({ audioInput: 11 }, true)
    expect(implausible).toEqual([
      ['cacheWrite', 5],
      ['audioInput', 11],
      ['imageOutput', 2],
    ])
  })

  it('does not report a part before its total has arrived', () => {
    const { implausible, usage } = meter()
    usage.snapshot({ cached: 6, reasoning: 3 }, false)
    usage.snapshot({ prompt: 10, completion: 4 }, true)
    expect(implausible).toEqual([])
  })

  it('counts a report in the event of a failure as final, whatever else the event contains', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 10, completion: 4 }, false, true)
    usage.token()
    expect(usage.reported(false)).toBe(true)
    expect(usage.complete).toBe(true)
  })

  it.each([undefined, -1])(
    'estimates if the final completion is %s and an early one was valid',
    (completion) => {
      const { usage } = meter()
      usage.snapshot({ prompt: 12, completion: 1 }, false)
      usage.token()
      usage.snapshot({ prompt: 12, completion }, true)
      expect(usage.reported(true)).toBe(true)
      expect(usage.complete).toBe(false)
      expect(usage.asReported(ESTIMATES)).toMatchObject({
        usage: { prompt: 12, completion: 5 },
        basis: 'estimated',
      })
      usage.snapshot({ completion: 3 }, true)
      usage.snapshot({ cached: 2 }, true)
      expect(usage.complete).toBe(true)
      expect(usage.asReported(ESTIMATES)).toMatchObject({
        usage: { prompt: 12, cached: 2, completion: 3 },
        basis: 'reported',
      })
    },
  )

  it('trusts no snapshot before a token, even if the reply seemed to have finished', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 3 }, true)
    usage.token()
    expect(usage.reported(true)).toBe(false)
    usage.snapshot({ cached: 2 }, true)
    expect(usage.reported(true)).toBe(true)
    expect(usage.complete).toBe(false)
    expect(usage.asReported(ESTIMATES)).toMatchObject({
      usage: { prompt: 12, cached: 2, completion: 5 },
      basis: 'estimated',
    })
  })

  it('uses the prompt of an early snapshot if the final one has only the completion', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    usage.token()
    usage.snapshot({ completion: 7 }, true)
    expect(usage.asReported(ESTIMATES)).toMatchObject({
      usage: { prompt: 12, completion: 7 },
      basis: 'reported',
    })
  })

  it('trusts a snapshot before the finish only if nothing but the end follows it', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    expect(usage.reported(true)).toBe(true)
    usage.token()
    expect(usage.reported(true)).toBe(false)
    expect(usage.reported(false)).toBe(false)
  })

  it('ignores a report without any count', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: -3, completion: 'x' }, true)
    expect(usage.reported(true)).toBe(false)
  })

  it('charges an interrupted reply for the interim prompt and the larger completion', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    expect(usage.asEstimated(ESTIMATES).usage).toMatchObject({ prompt: 12, completion: 5 })
    usage.snapshot({ completion: 60 }, false)
    expect(usage.asEstimated(ESTIMATES)).toMatchObject({ usage: { completion: 60 }, basis: 'estimated' })
  })
})
