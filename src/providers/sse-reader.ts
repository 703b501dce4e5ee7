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
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const FIELD_AND_BOM_BYTES = 64
const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf'
const PLAIN_DATA = 'data: '

/**
 * Reads server-sent events to the text of the WHATWG standard: LF, CR and CRLF, several `data:` lines, comments, a byte
 * order mark. Strings are latin1 throughout, so that a cut inside a character does no harm.
 *
 * Blocks of exactly `data: …` and a blank line, which is nearly all that providers send, are cut out directly; anything
 * else goes to eventsource-parser, and only in whole blocks, so that both agree on where an event begins.
 */
export function createSseReader({ eventBytes, onEvent }: SseReaderOptions): SseReader {
  const tooLong = () =>
    new ProviderError('invalid-response', `An event of the stream is longer than ${eventBytes} bytes.`)
  const emit = (data: string, type: string | undefined) => {
    if (data.length > eventBytes) throw tooLong()
    onEvent(data, type)
  }
  const parser = createParser({
    onEvent: (event) => emit(event.data, event.event),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw tooLong()
    },
    maxBufferSize: eventBytes + FIELD_AND_BOM_BYTES,
  })
  let start: string | undefined = ''
  let betweenEvents = true
  let lastCharacter = 0
  let carriageReturns = false

  // A byte order mark may come in pieces; the parser looks for it in its first piece only.
  const skipByteOrderMark = (text: string): string => {
    const soFar = start + text
    if (soFar.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.startsWith(soFar)) {
      start = soFar
      return ''
    }
    start = undefined
    return soFar.startsWith(BYTE_ORDER_MARK) ? soFar.slice(BYTE_ORDER_MARK.length) : soFar
  }

  /** Where the block that the parser is in ends, or -1. */
  const endOfBlock = (text: string): number => {
    if (lastCharacter === LINE_FEED && text.charCodeAt(0) === LINE_FEED) return 1
    const blankLine = text.indexOf('\n\n')
    return blankLine < 0 ? -1 : blankLine + 2
  }

  const feed = (text: string) => {
    betweenEvents = false
    lastCharacter = text.charCodeAt(text.length - 1)
    parser.feed(text)
  }

  return {
    read(bytes) {
      let text = bytes.toString('latin1')
      if (start !== undefined) text = skipByteOrderMark(text)
      if (text === '') return
      if (carriageReturns || text.indexOf('\r') >= 0) {
        carriageReturns = true
        feed(text)
        return
      }
      let position = 0
      if (!betweenEvents) {
        position = endOfBlock(text)
        if (position < 0) {
          feed(text)
          return
        }
        parser.feed(text.slice(0, position))
        betweenEvents = true
      }
      while (position < text.length) {
        const dataStart = position + PLAIN_DATA.length
        if (text.slice(position, dataStart) === PLAIN_DATA) {
          const lineEnd = text.indexOf('\n', dataStart)
          if (lineEnd >= 0 && text.charCodeAt(lineEnd + 1) === LINE_FEED) {
            emit(text.slice(dataStart, lineEnd), undefined)
            position = lineEnd + 2
            continue
          }
        }
        const blockEnd = text.indexOf('\n\n', position)
        if (blockEnd < 0) {
          feed(text.slice(position))
          return
        }
        parser.feed(text.slice(position, blockEnd + 2))
        position = blockEnd + 2
      }
    },
    end() {
      // The parser keeps a last CR back, for an LF that might follow.
      if (carriageReturns && lastCharacter === CARRIAGE_RETURN) parser.feed('\n')
    },
  }
}
