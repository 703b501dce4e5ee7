import { createParser } from 'eventsource-parser'
import { ProviderError } from '../errors.js'

export interface SseReader {
  /** Reads one piece of a stream, cut anywhere. Throws a `ProviderError` where a line or an event is too long. */
  read(bytes: Buffer): void
  /** The stream has ended. An event without its blank line is dropped, as the standard has it. */
  end(): void
}

export interface SseReaderOptions {
  /** The longest data of one event, and the longest line, in bytes. */
  readonly eventBytes: number
  /**
   * Called for each event that has data. `data` is latin1: each character a byte. `type` is what its `event:` line said.
   * What it throws comes out of `read`.
   */
  readonly onEvent: (data: string, type: string | undefined) => void
  /** Whether events of one line may be read past the parser. */
  readonly fastPaths: boolean
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const DATA = 'data: '
/** A line is its field's name and its value; only the value counts against the limit. */
const FIELD_NAME_BYTES = 64
const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf'

/**
 * Reads server-sent events to the text of the WHATWG standard: LF, CR and CRLF, several `data:` lines, comments, a byte
 * order mark. Strings are latin1 throughout, so that a cut inside a character does no harm.
 */
export function createSseReader({ eventBytes, onEvent, fastPaths }: SseReaderOptions): SseReader {
  const tooLong = () =>
    new ProviderError('invalid-response', `An event of the stream is longer than ${eventBytes} bytes.`)
  const takeEvent = (data: string, type: string | undefined): void => {
    if (data.length > eventBytes) throw tooLong()
    onEvent(data, type)
  }
  const parser = createParser({
    onEvent({ data, event }) {
      takeEvent(data, event)
    },
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw tooLong()
    },
    maxBufferSize: eventBytes + FIELD_NAME_BYTES,
  })
  /** What may yet become a byte order mark; undefined once past it. */
  let start: string | undefined = ''
  let lastByte: number | undefined
  /** An event has just ended: the parser holds nothing of the next. */
  let isBetweenEvents = false

  // The mark may come in pieces; the parser looks for it in its first piece only.
  const skipByteOrderMark = (text: string): string => {
    const soFar = start + text
    if (soFar.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.startsWith(soFar)) {
      start = soFar
      return ''
    }
    start = undefined
    return soFar.startsWith(BYTE_ORDER_MARK) ? soFar.slice(BYTE_ORDER_MARK.length) : soFar
  }

  return {
    read(bytes) {
      let text = bytes.toString('latin1')
      if (start !== undefined) text = skipByteOrderMark(text)
      if (text === '') return
      lastByte = bytes[bytes.length - 1]
      if (fastPaths && isBetweenEvents) {
        const read = readOneLineEvents(text, takeEvent)
        if (read === text.length) return
        text = text.slice(read)
      }
      parser.feed(text)
      isBetweenEvents = text.endsWith('\n\n')
    },
    end() {
      // The parser keeps a last CR back, for an LF that might follow.
      if (lastByte === CARRIAGE_RETURN) parser.feed('\n')
    },
  }
}

/**
 * Reads the events that a text begins with, as far as each is one `data:` line and a blank one: what providers send, and
 * what every event pays for. Returns how much of the text that was; the rest is the parser's.
 */
function readOneLineEvents(text: string, takeEvent: (data: string, type: undefined) => void): number {
  if (text.includes('\r')) return 0
  let from = 0
  while (text.slice(from, from + DATA.length) === DATA) {
    const end = text.indexOf('\n', from)
    if (end < 0 || text.charCodeAt(end + 1) !== LINE_FEED) break
    takeEvent(text.slice(from + DATA.length, end), undefined)
    from = end + 2
  }
  return from
}
