import { createParser, type EventSourceParser } from 'eventsource-parser'
import { eventTooLong, type ProviderError } from '../base/errors.js'

export interface SseReaderOptions {
  /** The longest data of one event, and the longest line, in bytes. */
  readonly eventBytes: number
  /**
   * Called for each event that has data. `data` is latin1: each character a byte. `type` is what its `event:` line said;
   * a line `error:` counts as an event of type `error`. What it throws comes out of `read`.
   */
  readonly onEvent: (data: string, type: string | undefined) => void
  /** Whether events of one line may be read past the parser. */
  readonly fastPaths: boolean
}

const LINE_FEED = 10
const DATA = 'data: '
/** A line is its field's name and its value; only the value counts against the limit. */
const FIELD_NAME_BYTES = 64
const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf'

/**
 * Reads server-sent events to the text of the WHATWG standard: LF, CR and CRLF, several `data:` lines, comments, a byte
 * order mark. Strings are latin1 throughout, so that a cut inside a character does no harm.
 */
export class SseReader {
  /** What may yet become a byte order mark; undefined once past it. */
  #start: string | undefined = ''
  #endedWithCr = false
  /** The parser holds nothing of the next event. */
  #isBetweenEvents = true
  #hasEnded = false
  /** Made for the first event that is not of one line. */
  #parser: EventSourceParser | undefined

  constructor(private readonly options: SseReaderOptions) {}

  /** Reads one piece of a stream, cut anywhere. Throws a `ProviderError` if a line or an event is too long. */
  read(bytes: Buffer): void {
    let text = bytes.toString('latin1')
    if (this.#start !== undefined) text = this.#skipByteOrderMark(this.#start + text)
    if (text === '') return
    if (this.#endedWithCr || text.includes('\r')) text = this.#withLineFeeds(text)
    if (this.options.fastPaths && this.#isBetweenEvents) {
      const read = this.#readOneLineEvents(text)
      if (read === text.length) return
      text = text.slice(read)
    }
    this.#parser ??= this.#createParser()
    this.#parser.feed(text)
    this.#isBetweenEvents = text.endsWith('\n\n')
  }

  /**
   * The stream has ended. The standard drops an event without its blank line, since it may have been cut. Some servers
   * leave the last one out, and with that event would go the usage: it is taken if it is whole.
   */
  end(): void {
    this.#hasEnded = true
    this.#parser?.feed('\n\n')
  }

  /** The same lines ended by LF alone. The parser would keep a last CR back, for an LF that might follow. */
  #withLineFeeds(text: string): string {
    const rest = this.#endedWithCr && text.startsWith('\n') ? text.slice(1) : text
    this.#endedWithCr = text.endsWith('\r')
    return rest.replace(/\r\n?/g, '\n')
  }

  /** The mark may come in pieces; the parser looks for it in its first piece only. */
  #skipByteOrderMark(soFar: string): string {
    if (soFar.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.startsWith(soFar)) {
      this.#start = soFar
      return ''
    }
    this.#start = undefined
    return soFar.startsWith(BYTE_ORDER_MARK) ? soFar.slice(BYTE_ORDER_MARK.length) : soFar
  }

  /**
   * Reads the events that a text begins with, as far as each is one `data:` line and a blank one: what providers send,
   * and what every event pays for. Returns how much of the text that was; the rest is the parser's.
   */
  #readOneLineEvents(text: string): number {
    let from = 0
    while (text.slice(from, from + DATA.length) === DATA) {
      const end = text.indexOf('\n', from)
      if (end < 0 || text.charCodeAt(end + 1) !== LINE_FEED) break
      this.#takeEvent(text.slice(from + DATA.length, end), undefined)
      from = end + 2
    }
    return from
  }

  #takeEvent(data: string, type: string | undefined): void {
    if (this.#hasEnded && !isWhole(data)) return
    if (data.length > this.options.eventBytes) throw this.#tooLong()
    this.options.onEvent(data, type)
  }

  #createParser(): EventSourceParser {
    const parser = createParser({
      onEvent: ({ data, event }) => this.#takeEvent(data, event),
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw this.#tooLong()
        // llama.cpp said so until late in 2025 why it broke off, and then that it was done.
        if (error.field === 'error' && error.value !== undefined) this.#takeEvent(error.value, 'error')
      },
      maxBufferSize: this.options.eventBytes + FIELD_NAME_BYTES,
    })
    // It would take a byte order mark off its first piece, which may be anywhere in the stream.
    parser.feed('')
    return parser
  }

  #tooLong(): ProviderError {
    return eventTooLong(this.options.eventBytes)
  }
}

/** Whether data that nothing ends but its stream cannot have been cut. */
function isWhole(data: string): boolean {
  if (data === '[DONE]') return true
  if (!data.startsWith('{')) return false
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}
