import { createParser, type EventSourceParser } from 'eventsource-parser'
import { eventTooLong, type ProviderError } from '../base/errors.js'
import { asWire, type WireBytes } from '../protocol/wire-bytes.js'
import { StrayLines } from './stray-lines.js'

export interface SseReaderOptions {
  /** The maximum length of the data of one event, and of one line, in bytes. */
  readonly eventBytes: number
  /**
   * Called for each event that has data. `type` is the value of the event's `event:` line; an error outside of any event
   * counts as an event of type `error`. `read` passes on any error that it throws.
   */
  readonly onEvent: (data: WireBytes, type: string | undefined) => void
  /** Whether events of one line may bypass the parser. */
  readonly fastPaths: boolean
  /**
   * Whether to tolerate a missing blank line between events, which some servers omit. A `data:` line that begins a JSON
   * document then starts a new event if the previous line ends an object. No JSON document has both lines. The type of
   * the next event may stand between them. A line `[DONE]` is always a separate event.
   */
  readonly separates?: boolean
}

const LINE_FEED = 10
const DATA = 'data: '
const EVENT = 'event: '
/** A line consists of its field's name and its value; only the value counts against the limit. */
const FIELD_NAME_BYTES = 64
/** The boundary between two events without a blank line. */
const JOINED = /\}\n(?=(?:event:[^\n]{0,64}\n)?data: ?[{[])/g
/** The start of such a boundary, at the end of a piece. */
const MAY_BE_JOINED =
  /\}(?:\n(?:e(?:v(?:e(?:n(?:t(?::[^\n]{0,64}\n?)?)?)?)?)?)?)?$|\}\n(?:event:[^\n]{0,64}\n)?d(?:a(?:t(?:a(?:: ?)?)?)?)?$/
const BETWEEN_DOCUMENTS = /(?<=\})\n(?=[{[])|(?<=^\[DONE\])\n|\n(?=\[DONE\]$)/m
const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf'

/**
 * Reads server-sent events as the WHATWG standard defines them: LF, CR and CRLF, several `data:` lines, comments, a
 * byte order mark. {@link StrayLines} reads lines that are not fields. All strings are latin1, so a cut inside a
 * character does no harm.
 */
export class SseReader {
  /** The number of bytes since the last event. */
  heldBytes = 0
  /** Text that may still become a byte order mark; undefined once that is decided. */
  private start: string | undefined = ''
  private endedWithCr = false
  /** Whether the parser holds no part of the next event. */
  private isBetweenEvents = true
  private hasEnded = false
  /** Text that the parser gets with the next piece. */
  private heldBack = ''
  /** Created for the first event that is not read as a single line. */
  private parser: EventSourceParser | undefined
  /** Created for the first line that is not a field. */
  private strayLines: StrayLines | undefined

  constructor(private readonly options: SseReaderOptions) {}

  /** Reads one piece of a stream, cut anywhere. Throws a `ProviderError` if a line or an event is too long. */
  read(bytes: Buffer): void {
    this.heldBytes += bytes.length
    let text = bytes.toString('latin1')
    if (this.start !== undefined) text = this.skipByteOrderMark(this.start + text)
    if (text === '') return
    if (this.endedWithCr || text.includes('\r')) text = this.withLineFeeds(text)
    if (this.options.fastPaths && this.isBetweenEvents) {
      const read = this.readOneLineEvents(text)
      if (read === text.length) return
      text = text.slice(read)
    }
    if (this.options.separates === true) text = this.separate(text)
    this.parser ??= this.createParser()
    this.parser.feed(text)
    this.isBetweenEvents = this.heldBack === '' && text.endsWith('\n\n')
  }

  /** Ends the events that lack a blank line. Holds back the end of the text if the next piece decides. */
  private separate(text: string): string {
    const all = this.heldBack + text
    const place = all.search(MAY_BE_JOINED)
    this.heldBack = place < 0 ? '' : all.slice(place)
    return (place < 0 ? all : all.slice(0, place)).replace(JOINED, '}\n\n')
  }

  /**
   * Called when the stream has ended. The standard drops an event without a blank line after it, since it may have
   * been cut. Some servers omit the last blank line, and dropping that event would lose the usage, so the event is
   * accepted if it is complete.
   */
  end(): void {
    this.hasEnded = true
    this.parser?.feed(`${this.heldBack}\n\n`)
    this.strayLines?.check()
  }

  /** Returns the same lines, each ended by LF alone. The parser would hold back a final CR, in case an LF follows. */
  private withLineFeeds(text: string): string {
    const rest = this.endedWithCr && text.startsWith('\n') ? text.slice(1) : text
    this.endedWithCr = text.endsWith('\r')
    return rest.replace(/\r\n?/g, '\n')
  }

  /** The mark may arrive in pieces, but the parser looks for it in the first piece only. */
  private skipByteOrderMark(soFar: string): string {
    if (soFar.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.startsWith(soFar)) {
      this.start = soFar
      return ''
    }
    this.start = undefined
    return soFar.startsWith(BYTE_ORDER_MARK) ? soFar.slice(BYTE_ORDER_MARK.length) : soFar
  }

  /**
   * Reads the events at the start of a text for as long as each is one `data:` line and a blank line, perhaps after an
   * `event:` line: the usual forms. Returns the number of characters read; the rest is left to the parser.
   */
  private readOneLineEvents(text: string): number {
    let from = 0
    for (;;) {
      let at = from
      let type: string | undefined
      if (text.startsWith(EVENT, from)) {
        const end = text.indexOf('\n', from)
        if (end <= from + EVENT.length) break
        type = text.slice(from + EVENT.length, end)
        at = end + 1
      }
      if (!text.startsWith(DATA, at)) break
      const end = text.indexOf('\n', at)
      if (end < 0 || text.charCodeAt(end + 1) !== LINE_FEED) break
      this.takeEvent(text.slice(at + DATA.length, end), type)
      from = end + 2
    }
    return from
  }

  /** Other fields, or `[DONE]`, may stand between two events without a blank line: the parser then takes both for one. */
  private takeEvents(data: string, type: string | undefined): void {
    const isOne = this.options.separates !== true || !data.includes('\n')
    for (const one of isOne ? [data] : data.split(BETWEEN_DOCUMENTS)) this.takeEvent(one, type)
  }

  private takeEvent(data: string, type: string | undefined): void {
    this.heldBytes = 0
    this.strayLines?.check()
    if (this.hasEnded && !isComplete(data)) return
    if (data.length > this.options.eventBytes) throw this.tooLong()
    this.options.onEvent(asWire(data), type)
  }

  private createParser(): EventSourceParser {
    const parser = createParser({
      onEvent: ({ data, event }) => this.takeEvents(data, event),
      onError: ({ field = '', line = '', type, value = '' }) => {
        if (type === 'max-buffer-size-exceeded') throw this.tooLong()
        if (type !== 'unknown-field') return
        this.strayLines ??= new StrayLines((data, type) => this.options.onEvent(asWire(data), type))
        this.strayLines.read({ field, value, line }, this.hasEnded)
      },
      maxBufferSize: this.options.eventBytes + FIELD_NAME_BYTES,
    })
    // Otherwise the parser would remove a byte order mark from its first piece, which may be anywhere in the stream.
    parser.feed('')
    return parser
  }

  private tooLong(): ProviderError {
    return eventTooLong(this.options.eventBytes)
  }
}

/** Whether data that ends only with its stream is certainly complete. */
function isComplete(data: string): boolean {
  if (data === '[DONE]') return true
  if (!data.startsWith('{')) return false
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}
