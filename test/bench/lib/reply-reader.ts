/** Reads consecutive HTTP/1.1 replies and counts the events in them. Cheap, since it shares a core. */
export class ReplyReader {
  status = 0
  events = 0
  #state: 'head' | 'counted' | 'size' | 'chunk' | 'chunk-end' | 'last' = 'head'
  #head = ''
  #left = 0
  /** The last characters of the payload, in case a mark is split. */
  #tail = ''

  /** Whether the payload ended like an event stream. */
  get isDone(): boolean {
    return this.#tail.includes('[DONE]')
  }

  /** Reset for the next reply on the connection. */
  reset(): void {
    this.status = 0
    this.events = 0
    this.#state = 'head'
    this.#head = ''
    this.#left = 0
    this.#tail = ''
  }

  /** Accepts bytes. Returns whether the reply is complete. */
  read(bytes: Buffer): boolean {
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'head') {
        at = this.#readHead(bytes, at)
        if (this.#isEmpty) return true
      } else if (this.#state === 'size') {
        at = this.#readSize(bytes, at)
      } else {
        const end = Math.min(bytes.length, at + this.#left)
        this.#left -= end - at
        if (this.#state === 'counted' || this.#state === 'chunk') this.#readPayload(bytes, at, end)
        at = end
        if (this.#left > 0) return false
        if (this.#state === 'counted' || this.#state === 'last') return true
        this.#left = this.#state === 'chunk' ? 2 : 0
        this.#state = this.#state === 'chunk' ? 'chunk-end' : 'size'
      }
    }
    return false
  }

  /** Whether there is a head and nothing after it. */
  get #isEmpty(): boolean {
    return this.#state === 'counted' && this.#left === 0
  }

  #readHead(bytes: Buffer, at: number): number {
    const before = this.#head.length
    this.#head += bytes.toString('latin1', at)
    const end = this.#head.indexOf('\r\n\r\n', Math.max(0, before - 3))
    if (end < 0) return bytes.length
    const head = this.#head.slice(0, end)
    this.status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#state = length === undefined ? 'size' : 'counted'
    this.#left = Number(length ?? 0)
    this.#head = ''
    return at + end + 4 - before
  }

  #readSize(bytes: Buffer, start: number): number {
    let at = start
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === 0x0a) break
      if (byte !== 0x0d) this.#left = this.#left * 16 + hexDigit(byte)
    }
    if (at === bytes.length) return at
    this.#state = this.#left === 0 ? 'last' : 'chunk'
    if (this.#left === 0) this.#left = 2
    return at + 1
  }

  #readPayload(bytes: Buffer, start: number, end: number): void {
    const text = bytes.toString('latin1', start, end)
    const seam = this.#tail.slice(-4)
    if (!seam.endsWith('\n') && (seam + text.slice(0, 4)).includes('data:')) this.events++
    for (let at = text.indexOf('data:'); at >= 0; at = text.indexOf('data:', at + 5)) this.events++
    this.#tail =
      text.length >= TAIL_LENGTH ? text.slice(-TAIL_LENGTH) : (this.#tail + text).slice(-TAIL_LENGTH)
  }
}

const TAIL_LENGTH = 16

function hexDigit(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
}
