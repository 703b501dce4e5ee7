import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import { withoutOlderForm } from '../../src/providers/older-form.js'
import { createCall } from './openai-compatible/run-call.js'

const chunk = (index: number, delta: object): ProviderEvent => ({
  type: 'chunk',
  chunk: { choices: [{ index, delta, finish_reason: null }] },
})
const DROPPED = { type: 'mended', kind: 'calls-dropped', dropped: 'tool_calls' }

/** Returns the events that a client of the older form gets for those of a provider that knows only today's. */
function given(events: readonly ProviderEvent[]): readonly ProviderEvent[] {
  const taken: ProviderEvent[] = []
  const call = createCall({ request: { model: 'm', messages: [], functions: [{ name: 'look' }] } })
  withoutOlderForm(call, (some) => {
    taken.push(...some)
  })!.take(events)
  return taken
}

describe('the reply of a chat provider that does not know the older form of tools', () => {
  const called = { name: 'look', arguments: '{}' }

  it('has the first call of each choice of a stream in the older form, and reports another', () => {
    const inOther = [chunk(1, { tool_calls: [{ index: 0, id: 'c', type: 'function', function: called }] })]
    const text = chunk(0, { content: 'Hi' })
    expect(
      given([
        text,
        chunk(0, { tool_calls: [{ index: 0, id: 'a', type: 'function', function: called }] }),
        chunk(0, { tool_calls: [{ index: 0, function: { arguments: ' ' } }] }),
        chunk(0, { tool_calls: [{ index: 1, id: 'b', type: 'function', function: called }] }),
        ...inOther,
      ]),
    ).toEqual([
      text,
      chunk(0, { function_call: called }),
      chunk(0, { function_call: { arguments: ' ' } }),
      chunk(0, {}),
      DROPPED,
      chunk(1, { function_call: called }),
    ])
  })

  it('has the first call of a body in the older form, and reports another', () => {
    const message = { role: 'assistant', content: null }
    const calls = ['a', 'b'].map((id) => ({ id, type: 'function', function: called }))
    const body = (said: object): ProviderEvent => ({
      type: 'completion',
      completion: { choices: [{ index: 0, message: said, finish_reason: 'tool_calls' }] },
    })
    expect(given([body({ ...message, tool_calls: calls })])).toEqual([
      body({ ...message, function_call: called }),
      DROPPED,
    ])
  })
})
