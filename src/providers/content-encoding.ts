import type { Transform } from 'node:stream'
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzipSync,
  inflateSync,
} from 'node:zlib'
import { ProviderError } from '../base/errors.js'

/** A compression that is decoded. */
export type Compression = 'gzip' | 'br' | 'deflate'

/** How a reply is encoded, by its `content-encoding` headers. */
export interface ContentEncoding {
  /** Undefined if it is not compressed. */
  readonly compression: Compression | undefined
  /** Whether the words name an encoding that cannot be decoded. */
  readonly isUnknown: boolean
  /** Words unrelated to compression, except `identity`. */
  readonly ignored: readonly string[]
}

/** Servers and proxies write character sets and transfer encodings into the header. */
const HARMLESS = new Set(['none', 'utf-8', 'utf8', 'us-ascii', 'binary', '7bit', '8bit', 'chunked'])
const COMPRESSIONS = new Map<string, Compression>([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['br', 'br'],
  ['deflate', 'deflate'],
])

/** Most replies have no such header. */
const PLAIN: ContentEncoding = Object.freeze({ compression: undefined, isUnknown: false, ignored: [] })

/** Reads the values of the `content-encoding` headers. */
export function readContentEncoding(values: readonly string[]): ContentEncoding {
  if (values.length === 0) return PLAIN
  const words = values
    .flatMap((value) => value.split(','))
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '' && word !== 'identity')
  const coded = words.filter((word) => !HARMLESS.has(word))
  const compression = COMPRESSIONS.get(coded[0] ?? '')
  return {
    compression,
    isUnknown: coded.length > 1 || (coded.length === 1 && compression === undefined),
    ignored: words.filter((word) => HARMLESS.has(word)),
  }
}

/** The first byte of each format. Brotli has no fixed one. */
const FIRST_BYTES: Readonly<Record<Compression, number | undefined>> = {
  gzip: 0x1f,
  deflate: 0x78,
  br: undefined,
}

/** Whether a body with this first byte may be compressed. Some proxies decode a body and keep its header. */
export function mayBeCompressed(compression: Compression, firstByte: number): boolean {
  const expected = FIRST_BYTES[compression]
  return expected === undefined || expected === firstByte
}

export interface DecoderOptions {
  readonly compression: Compression
  readonly onBytes: (bytes: Buffer) => void
  readonly onEnd: () => void
  readonly onFailure: (failure: ProviderError) => void
}

/** Decodes a body piece by piece. Calls no callbacks after {@link close}. */
export class BodyDecoder {
  private readonly stream: Transform
  private isClosed = false

  constructor({ compression, onBytes, onEnd, onFailure }: DecoderOptions) {
    const create = { gzip: createGunzip, br: createBrotliDecompress, deflate: createInflate }[compression]
    this.stream = create()
    this.stream.on('data', (bytes: Buffer) => {
      if (!this.isClosed) onBytes(bytes)
    })
    this.stream.on('end', () => {
      if (!this.isClosed) onEnd()
    })
    this.stream.on('error', (cause: NodeJS.ErrnoException) => {
      if (!this.isClosed) onFailure(decodingError(cause))
    })
  }

  write(bytes: Buffer): void {
    if (!this.isClosed) this.stream.write(bytes)
  }

  end(): void {
    if (!this.isClosed) this.stream.end()
  }

  pause(): void {
    this.stream.pause()
  }

  resume(): void {
    this.stream.resume()
  }

  close(): void {
    this.isClosed = true
    this.stream.destroy()
  }
}

/** Returns a body decoded as far as possible. Returns an empty one if it is damaged or larger than `maxBytes`. */
export function decodeWhole(body: Buffer, compression: Compression, maxBytes: number): Buffer {
  if (body.length === 0 || !mayBeCompressed(compression, body[0]!)) return body
  const limits = { maxOutputLength: maxBytes }
  try {
    if (compression === 'br') {
      return brotliDecompressSync(body, { ...limits, finishFlush: constants.BROTLI_OPERATION_FLUSH })
    }
    const decode = compression === 'gzip' ? gunzipSync : inflateSync
    return decode(body, { ...limits, finishFlush: constants.Z_SYNC_FLUSH })
  } catch {
    return Buffer.alloc(0)
  }
}

function decodingError(cause: NodeJS.ErrnoException): ProviderError {
  return cause.code === 'Z_BUF_ERROR'
    ? new ProviderError('cut-short', 'The compressed reply ended too early.', { cause })
    : new ProviderError('invalid-response', 'The compressed reply could not be decoded.', { cause })
}
