import { ProviderError } from '../base/errors.js'
import type { ProviderEvent } from '../contracts/providers.js'
import { GatheredBytes } from '../protocol/gathered-bytes.js'
import { SseReader } from './sse-reader.js'

/** Turns the body of a successful reply into events. What it throws should be a `ProviderError`. */
export interface ReplyReader {
  /** The reply itself has begun: what came before are blank lines that keep a connection alive. */
  readonly hasBegun: boolean
  /** Reads one piece, cut anywhere, and adds what it held to `events`. `true` once the provider has said that it is done. */
  read(bytes: Buffer, events: ProviderEvent[]): boolean
  /** The body has ended as its framing said. `true` if the provider had said that it is done. */
  end(events: ProviderEvent[]): boolean
}

/** How a provider's replies are read. */
export interface ReplyFormat {
  /** One event of a stream, in latin1. `true` if it says that the provider is done: nothing after it is read. */
  readonly onEvent: (data: string, type: string | undefined, events: ProviderEvent[]) => boolean
  /** Whether events of one line may be read past the parser. */
  readonly fastPaths: boolean
  /** A whole JSON body, without what stands before it. */
  readonly onBody: (json: Buffer, events: ProviderEvent[]) => void
}

const OPENING_BRACE = 0x7b
const SSE_FIRST_BYTES = new Set(Buffer.from(':deir'))
const MARK_START = 0xef
const MARK_BYTES = 3
/** Blank lines and spaces that keep a connection alive, and the bytes of a byte order mark. */
const SKIPPED = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf])

/**
 * Reads a reply either way, whatever was asked for: a body whose first visible character is `{` is one JSON document,
 * one that begins like a field or a comment is a stream of events. Content types are not asked, since many are wrong.
 * `eventBytes` is the longest event of a stream.
 */
export function createReplyReader(eventBytes: number, format: ReplyFormat): ReplyReader {
  return new EitherReader(eventBytes, format)
}

class EitherReader implements ReplyReader {
  #stream: SseReader | undefined
  #body: GatheredBytes | undefined
  /** The beginning of a byte order mark that was cut. */
  #cutMark: Buffer | undefined
  #done = false
  #sink: ProviderEvent[] = []

  constructor(
    private readonly eventBytes: number,
    private readonly format: ReplyFormat,
  ) {}

  get hasBegun(): boolean {
    return this.#stream !== undefined || this.#body !== undefined
  }

  read(given: Buffer, events: ProviderEvent[]): boolean {
    const bytes = this.#cutMark === undefined ? given : Buffer.concat([this.#cutMark, given])
    if (this.#body !== undefined) this.#body.add(bytes)
    else if (this.#stream === undefined) this.#recognise(bytes)
    if (this.#stream !== undefined) {
      this.#sink = events
      this.#stream.read(bytes)
    }
    return this.#done
  }

  end(events: ProviderEvent[]): boolean {
    if (this.#stream !== undefined) {
      this.#sink = events
      this.#stream.end()
      return this.#done
    }
    if (this.#body === undefined) throw new ProviderError('invalid-response', 'The reply is empty.')
    const { bytes: body } = this.#body
    this.#body = undefined
    this.format.onBody(body.subarray(body.indexOf(OPENING_BRACE)), events)
    return true
  }

  /** Does nothing with bytes that tell nothing yet. */
  #recognise(bytes: Buffer): void {
    this.#cutMark = undefined
    for (const byte of bytes) {
      if (SKIPPED.has(byte)) continue
      if (byte === OPENING_BRACE) {
        this.#body = new GatheredBytes()
        this.#body.add(bytes)
      } else if (SSE_FIRST_BYTES.has(byte)) this.#stream = this.#openStream()
      else throw new ProviderError('invalid-response', 'The reply is neither JSON nor a stream of events.')
      return
    }
    if (bytes.length < MARK_BYTES && bytes[0] === MARK_START) this.#cutMark = bytes
  }

  #openStream(): SseReader {
    const { fastPaths, onEvent } = this.format
    return new SseReader({
      eventBytes: this.eventBytes,
      fastPaths,
      onEvent: (data, type) => {
        if (!this.#done) this.#done = onEvent(data, type, this.#sink)
      },
    })
  }
}
