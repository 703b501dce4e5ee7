import { strict as assert } from 'node:assert'
import { checkEvents, readEvents } from '../helpers/message-events.js'
import { readResponseStream } from '../helpers/response-events.js'
import type { Answer } from './fault.js'

/** An API through which the same call can be made. */
export interface Api {
  readonly name: ApiName
  readonly path: string
  /** The bytes that keep a silent stream alive begin with this. */
  readonly alive: string
  /** The body that asks for the same as the body of a chat. */
  request(chat: Readonly<Record<string, unknown>>): object
  /** Fails unless a reply of status 200 is complete, in the way that the answer says. */
  assertWhole(text: string, stream: boolean, answer: Answer): void
  /** Fails unless a stream ends with an error of this code. */
  assertFailed(text: string, code: string): void
}

export type ApiName = 'chat' | 'responses' | 'messages'

/** The finish reason of a complete reply. */
const REASONS = { whole: 'stop', calls: 'tool_calls', cut: 'length' } as const
const reasonOf = (answer: Answer) => REASONS[answer as keyof typeof REASONS]

const chat: Api = {
  name: 'chat',
  path: '/chat/completions',
  alive: ': keep-alive',
  request: (body) => body,
  assertWhole(text, stream, answer) {
    if (!stream) {
      const [choice] = JSON.parse(text).choices
      assert.equal(choice.message.role, 'assistant')
      assert.equal(choice.finish_reason, reasonOf(answer))
      return
    }
    const events = eventsOf(text)
    assert.equal(events.at(-1), 'data: [DONE]')
    const usage = JSON.parse(events.at(-2)!.slice('data: '.length))
    assert.deepEqual(usage.choices, [], 'the charge comes immediately before [DONE]')
    const reasons = [...text.matchAll(/"finish_reason":"(\w+)"/g)].map(([, reason]) => reason)
    assert.deepEqual(reasons, [reasonOf(answer)], 'one finish reason')
  },
  assertFailed(text, code) {
    const frame = JSON.parse(eventsOf(text).at(-1)!.slice('data: '.length))
    assert.deepEqual([frame.error?.code, Object.keys(frame)], [code, ['error']])
    assert.ok(!text.includes('[DONE]'), 'a stream that failed is never done')
  },
}

const responses: Api = {
  name: 'responses',
  path: '/responses',
  alive: ': keep-alive',
  request({ messages, max_tokens: most, max_completion_tokens: _most, ...rest }) {
    return {
      ...rest,
      input: messages,
      ...(typeof most === 'number' && most > 0 && { max_output_tokens: most }),
    }
  },
  assertWhole(text, stream, answer) {
    const response = stream ? readResponseStream(text).response : JSON.parse(text)
    assert.equal(response.status, answer === 'cut' ? 'incomplete' : 'completed')
    const types = response.output.map(({ type }: { type: string }) => type)
    assert.equal(types.includes('function_call'), answer === 'calls')
  },
  assertFailed(text, code) {
    const { response } = readResponseStream(text)
    assert.deepEqual([response.status, response.error.code], ['failed', code])
  },
}

const STOPS = { whole: 'end_turn', calls: 'tool_use', cut: 'max_tokens' } as const

const messages: Api = {
  name: 'messages',
  path: '/messages',
  alive: 'event: ping',
  request({ max_tokens: older, max_completion_tokens: newer, n: _n, ...rest }) {
    const most = [older, newer].find((bound) => typeof bound === 'number' && bound > 0)
    return { ...rest, max_tokens: most ?? 4_096 }
  },
  assertWhole(text, stream, answer) {
    const reason = STOPS[answer as keyof typeof STOPS]
    if (!stream) {
      const message = JSON.parse(text)
      assert.deepEqual([message.type, message.role, message.stop_reason], ['message', 'assistant', reason])
      return
    }
    const { error, stopReason } = checkEvents(readEvents(text))
    assert.deepEqual([error, stopReason], [undefined, reason])
  },
  assertFailed(text, code) {
    assert.equal(checkEvents(readEvents(text)).error?.code, code)
  },
}

export const APIS: readonly Api[] = [chat, responses, messages]

/** The events of a stream without comments. */
function eventsOf(text: string): string[] {
  return text.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'))
}
