import { describe, expect, it } from 'vitest'
import { readUsage } from '../../../src/providers/openai-compatible/usage.js'

describe('readUsage', () => {
  it("reads OpenAI's usage", () => {
    const usage = {
      prompt_tokens: 16,
      completion_tokens: 300,
      total_tokens: 316,
      prompt_tokens_details: { cached_tokens: 4, audio_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 0 },
    }
    expect(readUsage(usage, undefined)).toEqual({
      prompt: 16,
      cached: 4,
      cacheWrite: undefined,
      completion: 300,
      reasoning: 20,
      total: 316,
      audioInput: 5,
    })
  })

  it('reads audio and image tokens in every details object, whatever their value', () => {
    const details = { audio_tokens: 3, image_tokens: '4' }
    const media = { audioInput: 3, imageInput: '4', audioOutput: 3, imageOutput: '4' }
    const counts = { prompt_tokens: 10, completion_tokens: 10 }
    expect(
      readUsage({ ...counts, prompt_tokens_details: details, completion_tokens_details: details }, undefined),
    ).toMatchObject(media)
    expect(
      readUsage({ ...counts, input_tokens_details: details, output_tokens_details: details }, undefined),
    ).toMatchObject(media)
  })

  it('adds reasoning that the completion excludes, if the total shows it', () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 400,
      total_tokens: 429,
      completion_tokens_details: { reasoning_tokens: 17 },
    }
    expect(readUsage(usage, undefined)).toMatchObject({ completion: 417, reasoning: 17 })
  })

  it('adds reasoning that exceeds the completion', () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 2,
      total_tokens: 331,
      completion_tokens_details: { reasoning_tokens: 317 },
    }
    for (const total of [331, 14, undefined]) {
      const reported = readUsage({ ...usage, total_tokens: total }, undefined)
      expect(reported).toMatchObject({ completion: 319, reasoning: 317 })
    }
  })

  it('has a prompt of 0 computed from the total, unless reasoning explains it', () => {
    for (const [reasoning_tokens, total_tokens, prompt, completion] of [
      [undefined, 20, 14, 6],
      [4, 20, 14, 6],
      [14, 20, 0, 20],
      [14, 30, 10, 20],
      [4, 10, 0, 10],
    ] as const) {
      const usage = { prompt_tokens: 0, completion_tokens: 6, reasoning_tokens, total_tokens }
      expect(readUsage(usage, undefined), `${reasoning_tokens} ${total_tokens}`).toMatchObject({
        prompt,
        completion,
      })
    }
  })

  it('does not add reasoning that the completion includes', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60, reasoning_tokens: 40 }
    expect(readUsage(usage, undefined)).toMatchObject({ completion: 50, reasoning: 40 })
  })

  it('counts tokens that only the total includes as output, if the setting says so', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 100 }
    expect(readUsage(usage, 'output')).toMatchObject({ completion: 90 })
    expect(readUsage(usage, undefined)).toMatchObject({ completion: 5 })
    expect(readUsage({ ...usage, total_tokens: 3 }, 'output')).toMatchObject({ completion: 5 })
    expect(readUsage({ ...usage, total_tokens: 'many' }, 'output')).toMatchObject({ completion: 5 })
  })

  it("finds cached and cache-written tokens in other providers' fields", () => {
    const counts = { prompt_tokens: 10, completion_tokens: 1 }
    expect(readUsage({ ...counts, prompt_cache_hit_tokens: 6 }, undefined)?.cached).toBe(6)
    expect(readUsage({ ...counts, cached_tokens: 7 }, undefined)?.cached).toBe(7)
    const written = { ...counts, prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 8 } }
    expect(readUsage(written, undefined)).toMatchObject({ cached: 0, cacheWrite: 8 })
  })

  it.each<[object, object]>([
    [
      { cache_read_input_tokens: 6, cache_creation_input_tokens: 3 },
      { cached: 6, cacheWrite: 3 },
    ],
    [{ input_tokens_details: { cached_tokens: 6, cache_creation_tokens: 3 } }, { cached: 6, cacheWrite: 3 }],
    [{ prompt_tokens_details: { cached_tokens: 0 }, cache_read_input_tokens: 6 }, { cached: 6 }],
    [{ prompt_tokens_details: { cache_read_input_tokens: 6 }, prompt_cache_hit_tokens: 6 }, { cached: 6 }],
    [{ prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 4 }, { cached: 6 }],
    [{ cached_tokens: 'six' }, { cached: 'six' }],
  ])('reads %j, whatever the names', (cache, counts) => {
    for (const usage of [
      { prompt_tokens: 10, completion_tokens: 1, ...cache },
      { input_tokens: 10, output_tokens: 1, total_tokens: 11, ...cache },
    ]) {
      expect(readUsage(usage, undefined)).toMatchObject({ prompt: 10, completion: 1, ...counts })
      expect(readUsage(usage, undefined)).not.toHaveProperty('unread')
    }
  })

  it('adds cached and cache-written tokens to a prompt that excludes them by the total', () => {
    const cache = { cache_read_input_tokens: 100, cache_creation_input_tokens: 20 }
    const counts = { prompt_tokens: 10, completion_tokens: 5, ...cache }
    expect(readUsage({ ...counts, total_tokens: 135 }, undefined)).toMatchObject({
      prompt: 130,
      completion: 5,
    })
    for (const total_tokens of [undefined, 15, 400]) {
      expect(readUsage({ ...counts, total_tokens }, undefined)).toMatchObject({ prompt: 10, cached: 100 })
    }
    const reasoning = { completion_tokens_details: { reasoning_tokens: 7 } }
    expect(
      readUsage({ ...counts, prompt_tokens: 500, ...reasoning, total_tokens: 632 }, undefined),
    ).toMatchObject({
      prompt: 620,
      completion: 12,
    })
    const inside = { prompt_tokens: 500, completion_tokens: 5, total_tokens: 505, ...cache }
    expect(readUsage(inside, undefined)).toMatchObject({ prompt: 500, cached: 100, cacheWrite: 20 })
  })

  it("reads counts under Anthropic's names with Anthropic's meaning, unless the total shows otherwise", () => {
    const counts = { input_tokens: 500, output_tokens: 5 }
    const cache = { cache_read_input_tokens: 100, cache_creation_input_tokens: 20 }
    expect(readUsage({ ...counts, ...cache }, undefined)).toMatchObject({
      prompt: 620,
      cached: 100,
      cacheWrite: 20,
      completion: 5,
    })
    expect(readUsage({ ...counts, ...cache, total_tokens: 505 }, undefined)?.prompt).toBe(500)
    const openAis = { prompt_tokens: 500, completion_tokens: 5, ...cache }
    expect(readUsage(openAis, undefined)?.prompt).toBe(500)
    const details = { input_tokens_details: { cached_tokens: 100 } }
    expect(readUsage({ ...counts, ...details }, undefined)).toMatchObject({ prompt: 500, cached: 100 })
  })

  it('adds up the tokens written to caches of several lifetimes', () => {
    const written = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 12 }
    const counts = { prompt_tokens: 100, completion_tokens: 5, cache_creation: written }
    expect(readUsage(counts, undefined)).toMatchObject({ prompt: 100, cacheWrite: 42 })
    const stated = { ...counts, cache_creation_input_tokens: 41 }
    expect(readUsage(stated, undefined)?.cacheWrite).toBe(41)
  })

  it('finds reasoning under its other name', () => {
    const counts = { input_tokens: 1, output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } }
    expect(readUsage(counts, undefined)).toMatchObject({ completion: 9, reasoning: 4 })
  })

  it('reports unknown counts of cached tokens', () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 1, semantic_cache_tokens: 4 },
      'New-Cache-Tokens': 2,
      cache_mode: 'auto',
      cache_misses: 0,
    }
    expect(readUsage(usage, undefined)?.unread).toEqual({ semantic_cache_tokens: 4, 'New-Cache-Tokens': 2 })
  })

  it('keeps a zero', () => {
    expect(readUsage({ prompt_tokens: 0, completion_tokens: 0 }, undefined)).toMatchObject({
      prompt: 0,
      completion: 0,
    })
  })

  it('returns invalid counts unchanged', () => {
    for (const nonsense of [-1, 1.5, '12', 1e30, true, [], {}]) {
      const usage = {
        prompt_tokens: nonsense,
        completion_tokens: nonsense,
        total_tokens: 5,
        reasoning_tokens: nonsense,
      }
      expect(readUsage(usage, 'output')).toMatchObject({
        prompt: nonsense,
        completion: nonsense,
        reasoning: nonsense,
      })
    }
  })

  it('treats null as absent', () => {
    const usage = { prompt_tokens: 3, completion_tokens: null, prompt_tokens_details: null }
    expect(readUsage(usage, undefined)).toEqual({ prompt: 3 })
  })

  it('reads nothing if there are no counts', () => {
    for (const usage of [undefined, null, 'x', 7, [], {}, { total_tokens: 4 }, { cost: 1 }]) {
      expect(readUsage(usage, undefined), JSON.stringify(usage)).toBeUndefined()
    }
  })
})
