import type { CompatError } from '../base/errors.js'
import type { BodySink, BodySource } from '../hosts/collect-body.js'
import { DRAIN_LIMIT_BYTES } from '../hosts/received-body.js'

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** A body that is a web stream. */
export class StreamSource implements BodySource {
  private readonly reader: Reader
  private sink: BodySink | undefined

  constructor(
    body: ReadableStream<Uint8Array>,
    private readonly asError: (error: unknown) => CompatError,
  ) {
    this.reader = body.getReader()
  }

  start(sink: BodySink): void {
    this.sink = sink
    void this.read()
  }

  detach(): void {
    this.sink = undefined
  }

  // Of a refused body, nothing may be left: on Workers, the next request on the connection would be lost.
  pause(): void {
    discardRest(this.reader)
  }

  private async read(): Promise<void> {
    try {
      while (this.sink !== undefined) {
        const { done, value } = await this.reader.read()
        if (done) this.sink?.end()
        else this.sink?.take(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      }
    } catch (error) {
      this.sink?.stop(this.asError(error))
    }
  }
}

/** Reads and discards the rest of a body, up to a limit. */
export function discardRest(reader: Reader): void {
  // If it fails, the client has left.
  discard(reader).catch(() => undefined)
}

async function discard(reader: Reader): Promise<void> {
  for (let bytes = 0; bytes <= DRAIN_LIMIT_BYTES; ) {
    const { done, value } = await reader.read()
    if (done) return
    bytes += value.byteLength
  }
  await reader.cancel()
}
