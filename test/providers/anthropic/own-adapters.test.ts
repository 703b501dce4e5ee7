import { describe, expect, it } from 'vitest'
import { readMessageEvents } from '../../../src/index.js'
import { blockDelta, blockStart, blockStop, messageDelta, messageStart, messageStop } from './replies.js'

describe('the reader of the Messages API for adapters of hosts', () => {
  it('hands on the deltas and the usage of a stream', () => {
    const reader = readMessageEvents()
    const events = [
      messageStart(),
      blockStart(0, { type: 'text', text: '' }),
      blockDelta(0, { type: 'text_delta', text: 'Hello' }),
      blockStop(0),
      messageDelta('end_turn', { output_tokens: 4 }),
      messageStop,
    ].flatMap((event) => reader.read(event))
    expect(reader.hasEnded).toBe(true)
    const deltas = events.flatMap((event) => (event.type === 'deltas' ? event.deltas : []))
    expect(deltas.map(({ type }) => type)).toEqual(['start', 'begin', 'text', 'done', 'end'])
    expect(events.at(-1)).toMatchObject({ type: 'usage', usage: { completion: 4 } })
  })

  it('reports a delta that is nested too deeply, with its text', () => {
    const delta = JSON.parse(`${'{"a":'.repeat(200)}"lost"${'}'.repeat(200)}`)
    expect(readMessageEvents().read(blockDelta(0, delta))).toEqual([
      { type: 'unreadable', why: expect.any(String), piece: delta },
    ])
  })

  it.each([5, null, 'text', []])('refuses %j', (value) => {
    const invalid = expect.objectContaining({ reason: 'invalid-response' })
    expect(() => readMessageEvents().read(value)).toThrow(invalid)
    expect(() => readMessageEvents().readWhole(value)).toThrow(invalid)
  })
})
