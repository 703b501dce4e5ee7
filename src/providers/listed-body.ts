import { GatheredBytes } from '../protocol/gathered-bytes.js'
import { parseProviderJson } from './provider-json.js'

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
/** The name of the list and the spaces around it. With more spaces, the list is read with the rest. */
const NAME_BYTES = 64

/** Describes a list whose items are parsed one by one. */
export interface ListFormat {
  readonly name: string
  /** Returns the memory of an item until its reply is sent, in multiples of its text. */
  copies(item: unknown): number
}

/**
 * A large JSON body in pieces, cut anywhere. The items of one of its top-level lists are parsed as they arrive, so that
 * they are never in memory as text all at once: a number takes 8 bytes, and its text about 20.
 */
export class ListedBody {
  /** The items so far. */
  items: unknown[] = []
  private itemBytes = 0
  private item = new GatheredBytes()
  /** Everything but the items. */
  private readonly rest = new GatheredBytes()
  /** The end of the pieces so far. */
  private tail: Buffer = Buffer.alloc(0)
  private depth = 0
  private isInString = false
  private isEscaped = false
  private isInList = false
  private readonly opening: RegExp

  constructor(private readonly list: ListFormat) {
    this.opening = new RegExp(`[{,]\\s*"${list.name}"\\s*:\\s*$`)
  }

  /** The approximate memory of the pieces so far. */
  get heldBytes(): number {
    return this.itemBytes + this.item.length + this.rest.length
  }

  /** The JSON text, with the list empty. */
  get text(): string {
    return this.rest.bytes.toString()
  }

  /** Throws a `ProviderError` if an item is not JSON. */
  add(bytes: Buffer): void {
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]
      if (this.isInString) {
        if (this.isEscaped) this.isEscaped = false
        else if (byte === BACKSLASH) this.isEscaped = true
        else if (byte === QUOTE) this.isInString = false
      } else if (byte === QUOTE) this.isInString = true
      else if (byte === COMMA) {
        if (!this.isInList || this.depth !== 2) continue
        this.endItem(bytes.subarray(from, at), false)
        from = at + 1
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        this.depth++
        if (byte !== OPEN_LIST || this.depth !== 2 || !this.isNamed(bytes, at)) continue
        this.rest.add(bytes.subarray(from, at + 1))
        from = at + 1
        this.beginList()
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        this.depth--
        if (!this.isInList || this.depth !== 1) continue
        this.endItem(bytes.subarray(from, at), true)
        from = at
        this.isInList = false
      }
    }
    ;(this.isInList ? this.item : this.rest).add(bytes.subarray(from))
    this.tail = Buffer.concat([this.tail, bytes.subarray(-NAME_BYTES)]).subarray(-NAME_BYTES)
  }

  private isNamed(bytes: Buffer, at: number): boolean {
    const near = bytes.subarray(Math.max(0, at - NAME_BYTES), at)
    const before = at < NAME_BYTES ? Buffer.concat([this.tail, near]) : near
    return this.opening.test(before.toString('latin1'))
  }

  /** As in the parser, the last of two lists with one name counts. */
  private beginList(): void {
    this.isInList = true
    this.items = []
    this.itemBytes = 0
  }

  private endItem(last: Buffer, isLast: boolean): void {
    this.item.add(last)
    const { item } = this
    this.item = new GatheredBytes()
    const text = item.bytes.toString()
    if (isLast && this.items.length === 0 && text.trim() === '') return
    const value = parseProviderJson(text)
    this.items.push(value)
    this.itemBytes += item.length * this.list.copies(value)
  }
}
