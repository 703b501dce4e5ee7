import { ProviderError } from '../base/errors.js'
import type { ProviderEvent } from '../contracts/providers.js'
import { GatheredBytes } from '../protocol/gathered-bytes.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import { ListedBody, type ListFormat } from './listed-body.js'
import { SseReader } from './sse-reader.js'
import { PAGE_HINT } from './upstream-errors.js'

/** Describes how to read a provider's replies. */
export interface ReplyFormat {
  /** Reads one event of a stream. Returns `true` for the last one, after which nothing is read. */
  onEvent(data: WireBytes, type: string | undefined, events: ProviderEvent[]): boolean
  /** Whether events of one line may bypass the parser. */
  readonly fastPaths: boolean
  /** The top-level list whose items are parsed as they arrive, if a body is large. */
  readonly list?: ListFormat
  /**
   * Reads a whole JSON body, without the characters that precede it. If the items of its `list` were parsed before, they
   * come as `items`, and the list in the text is empty.
   */
  onBody(json: string, events: ProviderEvent[], items?: readonly unknown[]): void
}

/** A body is in memory as the bytes that arrived and as the text that is made of them. */
const COPIES = 2
/** From here on, the items of a list are parsed as they arrive. */
const LARGE_BODY_BYTES = 256 * 1_024
const OPENING_BRACE = 0x7b
const PAGE_START = 0x3c
const SSE_FIRST_BYTES = new Set(Buffer.from(':deir'))
const MARK_START = 0xef
const MARK_BYTES = 3
/** Blank lines and spaces that keep a connection alive, and the bytes of a byte order mark. */
const SKIPPED = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf])

/**
 * Turns the body of a successful reply into events. Reads it as JSON or as a stream, regardless of the request: a body
 * whose first visible character is `{` is one JSON document, a body that begins like a field or a comment is a stream of
 * events. Content types are ignored, since many are wrong. Throws only `ProviderError`s, if its format does.
 */
export class ReplyReader {
  private stream: SseReader | undefined
  private body: GatheredBytes | undefined
  /** Set if the body is large and has a list. */
  private listed: ListedBody | undefined
  /** The beginning of a byte order mark that was split between two reads. */
  private cutMark: Buffer | undefined
  private done = false
  private sink: ProviderEvent[] = []

  /** @param eventBytes the maximum length of an event in a stream */
  constructor(
    private readonly eventBytes: number,
    private readonly format: ReplyFormat,
  ) {}

  /** Whether the reply itself has begun. Blank lines that keep a connection alive do not count. */
  get hasBegun(): boolean {
    return this.stream !== undefined || this.body !== undefined || this.listed !== undefined
  }

  /** The memory of what waits for the end of a JSON body or of an event. */
  get heldBytes(): number {
    if (this.body !== undefined) return this.body.length * COPIES
    return this.listed?.heldBytes ?? this.stream?.heldBytes ?? 0
  }

  /**
   * Reads one piece, cut anywhere, and adds its events to `events`. Returns `true` once the provider has ended its
   * reply.
   */
  read(given: Buffer, events: ProviderEvent[]): boolean {
    const bytes = this.cutMark === undefined ? given : Buffer.concat([this.cutMark, given])
    if (this.listed !== undefined) this.listed.add(bytes)
    else if (this.body !== undefined) this.addToBody(this.body, bytes)
    else if (this.stream === undefined) this.detectFormat(bytes)
    if (this.stream !== undefined) {
      this.sink = events
      this.readStream(this.stream, bytes)
    }
    return this.done
  }

  /** Called when the body has ended as announced. Returns `true` if the provider had ended its reply. */
  end(events: ProviderEvent[]): boolean {
    if (this.stream !== undefined) {
      this.sink = events
      this.stream.end()
      return this.done
    }
    const { items } = this.listed ?? {}
    const text = this.takeText()
    if (text === undefined) throw new ProviderError('invalid-response', 'The reply is empty.')
    this.format.onBody(text.slice(text.indexOf('{')), events, items)
    return true
  }

  private addToBody(body: GatheredBytes, bytes: Buffer): void {
    body.add(bytes)
    const { list } = this.format
    if (list === undefined || body.length < LARGE_BODY_BYTES) return
    this.body = undefined
    this.listed = new ListedBody(list)
    this.listed.add(body.bytes)
  }

  /** Returns the text of the body and releases its bytes, which would be in memory while the text is parsed. */
  private takeText(): string | undefined {
    const text = this.listed?.text ?? this.body?.bytes.toString()
    this.listed = undefined
    this.body = undefined
    return text
  }

  /** Anything after the end in the same read is not part of the reply. */
  private readStream(stream: SseReader, bytes: Buffer): void {
    try {
      stream.read(bytes)
    } catch (error) {
      if (!this.done) throw error
    }
  }

  /** Does nothing if the bytes do not show the format yet. */
  private detectFormat(bytes: Buffer): void {
    this.cutMark = undefined
    for (const byte of bytes) {
      if (SKIPPED.has(byte)) continue
      if (byte === OPENING_BRACE) {
        this.body = new GatheredBytes()
        this.body.add(bytes)
      } else if (SSE_FIRST_BYTES.has(byte)) this.stream = this.openStream()
      else {
        const hint = byte === PAGE_START ? PAGE_HINT : ''
        const message = `The reply is neither JSON nor a stream of events.${hint}`
        throw new ProviderError('invalid-response', message)
      }
      return
    }
    if (bytes.length < MARK_BYTES && bytes[0] === MARK_START) this.cutMark = bytes
  }

  private openStream(): SseReader {
    const { format } = this
    return new SseReader({
      eventBytes: this.eventBytes,
      fastPaths: format.fastPaths,
      separates: true,
      onEvent: (data, type) => {
        if (!this.done) this.done = format.onEvent(data, type, this.sink)
      },
    })
  }
}
