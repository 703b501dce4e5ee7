import { describe, expect, it } from 'vitest'
import { estimatePrompt } from '../../src/engine/charging/prompt-estimate.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counter.js'
import type { ChatMessage } from '../../src/protocol/chat-request.js'

const estimate = (messages: readonly ChatMessage[], more: object = {}) =>
  estimatePrompt({ model: 'm', messages: [...messages], ...more }, byteRatioCounter)
const user = (content: unknown): ChatMessage => ({ role: 'user', content })

describe('the estimate of a prompt', () => {
  it('errs high for a hold and low for a charge', () => {
    expect(estimate([user('x'.repeat(12))])).toEqual({ atMost: 4 + 8, atLeast: 3 })
    expect(estimate([user('日本')])).toEqual({ atMost: 2 + 8, atLeast: 1 })
  })

  it('counts images and other parts whatever their bytes, and charges their text only', () => {
    const parts = [
      { type: 'text', text: 'x'.repeat(12) },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(10_000)}` } },
      { type: 'file', file: { file_data: 'A'.repeat(10_000) } },
    ]
    expect(estimate([user(parts)])).toEqual({ atMost: 4 + 8 + 1_600 + 8_000, atLeast: 3 })
  })

  it('is not talked out of an image by a text beside it', () => {
    expect(estimate([user([{ type: 'image_url', text: '', image_url: {} }])]).atMost).toBe(8 + 1_600)
    expect(estimate([user([{ type: 'file', text: '', file: {} }])]).atMost).toBe(8 + 8_000)
  })

  it('counts a refusal as the text that it is', () => {
    const refused = { role: 'assistant', content: [{ type: 'refusal', refusal: 'x'.repeat(30_000) }] }
    expect(estimate([refused])).toEqual({ atMost: 10_000 + 8, atLeast: 7_500 })
  })

  it('holds for the text that a part of any other type may bring into a prompt', () => {
    const part = { type: 'thinking', thinking: [{ type: 'text', text: 'x'.repeat(30_000) }] }
    const bytes = JSON.stringify(part).length
    expect(estimate([user([part])])).toEqual({ atMost: Math.ceil(bytes / 3) + 8 + 8_000, atLeast: 0 })
  })

  it('holds, but does not charge, for what may become part of a prompt elsewhere in a request', () => {
    const long = 'x'.repeat(3_000)
    expect(estimate([{ role: long, content: '' }])).toEqual({ atMost: 1_000 + 8, atLeast: 0 })
    expect(estimate([user('')], { documents: long, temperature: 1, reasoning_effort: 'low' })).toEqual({
      atMost: 1_000 + 8,
      atLeast: 0,
    })
  })

  it('counts tools, functions and the response format as they are serialised', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const bytes = JSON.stringify(tools).length
    expect(estimate([user('')], { tools })).toEqual({
      atMost: Math.ceil(bytes / 3) + 8,
      atLeast: Math.floor(bytes / 4),
    })
  })
})
