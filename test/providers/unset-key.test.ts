import { afterEach, expect, it, vi } from 'vitest'
import { anthropic } from '../../src/providers/anthropic/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'

const baseUrl = 'http://127.0.0.1:9/v1'
const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)

afterEach(() => {
  warn.mockClear()
})

// With `process.env.KEY!`, the compiler accepts an undefined key.
const unset = { baseUrl, apiKey: undefined } as unknown as { baseUrl: string }

it.each([
  ['openaiCompatible', () => openaiCompatible(unset)],
  ['anthropic', () => anthropic(unset)],
])('an adapter warns of a key of %s that is given as undefined', (adapter, make) => {
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
])('an adapter does not warn if there is no key setting, or if it is set: %s', (_what, make) => {
  make()
  expect(warn).not.toHaveBeenCalled()
})
