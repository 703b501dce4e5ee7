import { fromLatin1 } from '../../protocol/latin1.js'
import { isTooDeepAs, parseLoosely, parseProviderObject, readFrame } from '../provider-json.js'
import { ReplyReader } from '../reply-reader.js'
import { addOrPassOver, unreadable } from '../unreadable.js'
import { frameError } from './errors.js'
import { readMessage } from './message.js'
import { ofMessage } from './message-events.js'
import { createStreamReader } from './stream.js'

/** Returns a reader for one reply of the Messages API, streamed or whole. */
export function createReader(eventBytes: number, fastPaths = true): ReplyReader {
  const stream = createStreamReader()
  return new ReplyReader(eventBytes, {
    fastPaths,
    onEvent(data, type, events) {
      if (type === 'error') throw frameError(parseLoosely(fromLatin1(data)))
      if (data.trim() === '') return false
      const text = fromLatin1(data)
      for (const event of readFrame(text, type, events)) {
        const read = isTooDeepAs(text, event) ? ofMessage(event) : event
        if (read === undefined) events.push(unreadable('An event of the stream is nested too deeply.'))
        else addOrPassOver(events, () => stream.read(read))
      }
      return stream.terminated
    },
    onBody(json, events) {
      for (const event of readMessage(parseProviderObject(json))) events.push(event)
    },
  })
}
