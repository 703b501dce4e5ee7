import { afterEach, expect, it, vi } from 'vitest'
import { anthropic } from '../../src/providers/anthropic/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'

const baseUrl = 'http://127.0.0.1:9/v1'
const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)

afterEach(() => {
  warn.mockClear()
})

// Written so by those whose compiler takes `process.env.KEY!` at its word.
const unset = { baseUrl, apiKey: undefined } as unknown as { baseUrl: string }

it.each([
  ['openaiCompatible', () => openaiCompatible(unset)],
  ['anthropic', () => anthropic(unset)],
])('a key of %s that is given as undefined is warned of', (adapter, make) => {
  make()
  expect(warn).toHaveBeenCalledTimes(1)
  expect(warn).toHaveBeenCalledWith(expect.stringContaining(`apiKey of ${adapter} is undefined`), {
    code: 'COMPAT_ROUTER_API_KEY',
  })
})

it.each([
  ['openaiCompatible', () => openaiCompatible({ baseUrl })],
  ['anthropic', () => anthropic({ baseUrl })],
  ['a key', () => openaiCompatible({ baseUrl, apiKey: 'sk-1' })],
])('nothing is said without a key at all, nor of one that is there: %s', (_what, make) => {
  make()
  expect(warn).not.toHaveBeenCalled()
})
