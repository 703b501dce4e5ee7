import { ProviderError } from '../../base/errors.js'
import { fromWire } from '../../protocol/wire-bytes.js'
import { isTooDeepAs, parseLoosely, parseProviderObject, readFrame } from '../provider-json.js'
import { ReplyReader } from '../reply-reader.js'
import { frameError } from './errors.js'
import { ofMessage } from './message-events.js'
import { MessageReader } from './message-reader.js'

/** Returns a reader for one reply of the Messages API, streamed or whole. */
export function createReader(eventBytes: number, { lines = true, splice = true } = {}): ReplyReader {
  const message = new MessageReader()
  return new ReplyReader(eventBytes, {
    fastPaths: lines,
    onEvent(data, type, events) {
      if (type === 'error') throw frameError(parseLoosely(fromWire(data)))
      if (splice && message.readPlain(data, events)) return false
      if (data.trim() === '') return false
      const text = fromWire(data)
      for (const event of readFrame(text, type, events)) {
        const read = isTooDeepAs(text, event) ? ofMessage(event) : event
        if (read === undefined) {
          events.push({
            type: 'unreadable',
            why: 'An event of the stream is nested too deeply.',
            piece: event.delta ?? event.content_block,
          })
        } else message.read(read, events)
      }
      return message.hasEnded
    },
    onBody(json, events) {
      message.readWhole(parseProviderObject(json), events)
    },
  })
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
