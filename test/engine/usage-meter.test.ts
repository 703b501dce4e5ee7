import { describe, expect, it } from 'vitest'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'

const ESTIMATES = { prompt: 40, completion: 5 }

function meter(bounds = { prompt: 1_000, completion: 100 }) {
  const implausible: [string, unknown][] = []
  return { implausible, usage: new UsageMeter(bounds, (field, value) => implausible.push([field, value])) }
}

describe('the usage meter', () => {
  it('takes field by field the largest of several snapshots, never the sum', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    usage.snapshot({ prompt: 12, completion: 7, reasoning: 3 }, false)
    usage.snapshot({ prompt: 10, completion: 9 }, true)
    expect(usage.asReported(ESTIMATES)).toEqual({
      usage: { prompt: 12, cached: 0, cacheWrite: 0, completion: 9, reasoning: 3 },
      basis: 'reported',
    })
  })

  it('keeps a reported zero a zero', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 0, completion: 0 }, true)
    expect(usage.reported(true)).toBe(true)
    expect(usage.asReported(ESTIMATES).usage).toMatchObject({ prompt: 0, completion: 0 })
  })

  it.each([-1, 0.5, '9', 1e30, Number.NaN, true, {}, 1_001])(
    'takes a prompt of %s as missing and tells of it',
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

  it('tells once of a count that is none, however often a provider repeats it', () => {
    const { implausible, usage } = meter()
    for (let chunk = 0; chunk < 100; chunk++) usage.snapshot({ prompt: 1_001 + chunk, completion: -1 }, false)
    expect(implausible).toEqual([
      ['prompt', 1_001],
      ['completion', -1],
    ])
  })

  it('takes details that are missing as zero and clamps parts to their wholes', () => {
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

  it('clamps a part that is larger than any whole may be, too', () => {
    const { implausible, usage } = meter()
    usage.snapshot({ prompt: 10, cached: 1_001, completion: 4, reasoning: 101 }, true)
    expect(usage.asReported(ESTIMATES).usage).toMatchObject({
      prompt: 10,
      cached: 10,
      completion: 4,
      reasoning: 4,
    })
    expect(implausible).toEqual([])
  })

  it.each([undefined, -1])(
    'estimates where the final completion is %s and an early one was not',
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
      usage.token()
      usage.snapshot({ cached: 2 }, true)
      expect(usage.complete).toBe(true)
      expect(usage.asReported(ESTIMATES)).toMatchObject({
        usage: { prompt: 12, cached: 2, completion: 3 },
        basis: 'reported',
      })
    },
  )

  it('takes the prompt from an early snapshot where the final one has only the completion', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    usage.token()
    usage.snapshot({ completion: 7 }, true)
    expect(usage.asReported(ESTIMATES)).toMatchObject({
      usage: { prompt: 12, completion: 7 },
      basis: 'reported',
    })
  })

  it('believes a snapshot before the finish only where nothing but the end follows it', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    expect(usage.reported(true)).toBe(true)
    usage.token()
    expect(usage.reported(true)).toBe(false)
    expect(usage.reported(false)).toBe(false)
  })

  it('does not take a report without a single count for one', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: -3, completion: 'x' }, true)
    expect(usage.reported(true)).toBe(false)
  })

  it('charges a reply that was broken off by the interim prompt and the larger completion', () => {
    const { usage } = meter()
    usage.snapshot({ prompt: 12, completion: 1 }, false)
    expect(usage.asEstimated(ESTIMATES).usage).toMatchObject({ prompt: 12, completion: 5 })
    usage.snapshot({ completion: 60 }, false)
    expect(usage.asEstimated(ESTIMATES)).toMatchObject({ usage: { completion: 60 }, basis: 'estimated' })
  })
})
