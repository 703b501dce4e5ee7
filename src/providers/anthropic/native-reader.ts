import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import { isFailureReason } from '../../protocol/finish-reason.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { fromLatin1 } from '../../protocol/latin1.js'
import { isTooDeepAs, parseLoosely, parseProviderObject, readFrame } from '../provider-json.js'
import { ReplyReader } from '../reply-reader.js'
import { unreadable } from '../unreadable.js'
import { frameError } from './errors.js'
import { ofMessage } from './message-events.js'
import { createUsageReader, type UsageReader } from './usage.js'

/** The start of an event that has no usage, and that a client can receive unparsed. */
const DELTA = '{"type":"content_block_delta",'

/** Returns a reader that passes on one reply of the Messages API in its own format. */
export function createNativeReader(eventBytes: number, fastPaths = true): ReplyReader {
  const usage = createUsageReader()
  return new ReplyReader(eventBytes, {
    fastPaths,
    onEvent(data, type, events) {
      if (type === 'error') throw frameError(parseLoosely(fromLatin1(data)))
      if (data.startsWith(DELTA)) {
        events.push({ type: 'native-data', bytes: data })
        return false
      }
      if (data.trim() === '') return false
      const text = fromLatin1(data)
      let isLast = false
      for (const event of readFrame(text, type, events)) {
        const read = isTooDeepAs(text, event) ? ofMessage(event) : event
        if (read === undefined) events.push(unreadable('An event of the stream is nested too deeply.'))
        else isLast = readEvent(read, usage, events) || isLast
      }
      return isLast
    },
    onBody(json, events) {
      const body = parseProviderObject(json)
      if (body.type === 'error') throw frameError(body)
      if (!Array.isArray(body.content)) {
        throw new ProviderError('invalid-response', 'The reply is not a message of the API.')
      }
      // Some servers omit the type.
      const value = body.type === 'message' ? body : Object.assign({}, body, { type: 'message' })
      events.push({ type: 'native', value })
      addUsage(body.usage, usage, events)
    },
  })
}

/** Returns whether the event is the last one. */
function readEvent(event: JsonObject, usage: UsageReader, events: ProviderEvent[]): boolean {
  switch (event.type) {
    case 'error':
      throw frameError(event)
    case 'ping':
      return false
    case 'message_stop':
      return true
  }
  const isEnd = event.type === 'message_delta'
  const hasFailed = isEnd && isObject(event.delta) && isFailureReason(event.delta.stop_reason)
  if (hasFailed) addUsage(event.usage, usage, events, true)
  events.push({ type: 'native', value: event })
  if (event.type === 'message_start' && isObject(event.message)) addUsage(event.message.usage, usage, events)
  if (isEnd && !hasFailed) addUsage(event.usage, usage, events)
  return false
}

function addUsage(given: unknown, usage: UsageReader, events: ProviderEvent[], final = false): void {
  const report = usage.read(given)
  if (report !== undefined) events.push({ type: 'usage', usage: report, ...(final && { final }) })
}

/** Returns a reader for the answer to a request that counts tokens. */
export function createCountReader(eventBytes: number): ReplyReader {
  const wrong = () => new ProviderError('invalid-response', 'The answer is not a count of tokens.')
  return new ReplyReader(eventBytes, {
    fastPaths: false,
    onEvent() {
      throw wrong()
    },
    onBody(json, events) {
      const { input_tokens: prompt } = parseProviderObject(json)
      if (prompt === undefined) throw wrong()
      events.push({ type: 'usage', usage: { prompt } })
    },
  })
}
