import type { WholeReply } from '../../contracts/reply.js'
import { isInteger, isObject, type JsonObject } from '../../protocol/json-values.js'
import { cleanLabel } from '../../protocol/text.js'
import { asWire, joined, jsonBytes, type WireBytes, wire } from '../../protocol/wire-bytes.js'
import { type WireCharge, writeUsage } from '../../protocol/wire-usage.js'
import { JsonReply, unreadable } from '../../replies/json-reply.js'

export interface AskedReply {
  /** The model key of the request. */
  readonly model: string
  /** The number of embeddings requested. */
  readonly count: number
  /** The format that the client requested. */
  readonly format: 'float' | 'base64'
}

const FLOAT_BYTES = 4
/** A smaller reply is written as one text. */
const SMALL_BYTES = 256 * 1_024
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** A reply with embeddings, in the format that the client requested, whichever one the provider sent. */
export class EmbeddingsReply extends JsonReply {
  /** The embeddings as JSON, each at its index. */
  private data: readonly WireBytes[] = []
  keptBytes = 0

  constructor(private readonly asked: AskedReply) {
    super()
  }

  body(charge: WireCharge): WholeReply {
    const { asked, data } = this
    this.data = []
    const items = data.map((embedding, index) => {
      const comma = index === 0 ? '' : ','
      return wire(`${comma}{"object":"embedding","index":${index},"embedding":${embedding}}`)
    })
    const model = jsonBytes(asked.model)
    const pieces = [
      wire('{"object":"list","data":['),
      ...items,
      wire(`],"model":${model},"usage":${writeUsage(charge)}}`),
    ]
    return this.keptBytes < SMALL_BYTES ? joined(pieces) : pieces
  }

  protected read({ data, id }: JsonObject): void {
    if (!Array.isArray(data)) throw unreadable('data is not a list')
    const { count } = this.asked
    if (data.length !== count) throw unreadable(`it has ${data.length} embeddings for ${count} inputs`)
    const read = new Array<WireBytes | undefined>(count)
    for (const [position, item] of data.entries()) {
      if (!isObject(item)) throw unreadable('an item of data is not an object')
      const index = item.index ?? position
      if (!isInteger(index) || !(index in data)) throw unreadable('an index is out of range')
      if (read[index] !== undefined) throw unreadable('two embeddings have the same index')
      const written = this.write(item.embedding)
      this.keptBytes += written.length
      read[index] = written
      // All its numbers would otherwise be in memory beside their text.
      data[position] = null
    }
    if (typeof id === 'string' && id !== '') this.upstreamId = cleanLabel(id)
    this.data = read as WireBytes[]
  }

  /** Writes one embedding as JSON in the client's format. */
  private write(embedding: unknown): WireBytes {
    const isBase64 = this.asked.format === 'base64'
    if (typeof embedding === 'string') {
      if (embedding.length > MOST_BASE64) throw unreadable(TOO_MANY_NUMBERS)
      const bytes = Buffer.from(embedding, 'base64')
      if (!BASE64.test(embedding) || bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) {
        throw unreadable('an embedding is not base64 of 32-bit floats')
      }
      if (isBase64) return asWire(`"${embedding}"`)
      const floats = Array.from({ length: bytes.length / FLOAT_BYTES }, (_, at) =>
        shortest(bytes.readFloatLE(at * FLOAT_BYTES)),
      )
      return writeFloats(floats)
    }
    if (!Array.isArray(embedding) || embedding.length === 0)
      throw unreadable('an embedding is not a list of numbers')
    if (embedding.length > MOST_NUMBERS) throw unreadable(TOO_MANY_NUMBERS)
    if (!isBase64) return writeFloats(embedding)
    const bytes = Buffer.alloc(embedding.length * FLOAT_BYTES)
    for (const [at, value] of embedding.entries()) bytes.writeFloatLE(checked(value), at * FLOAT_BYTES)
    return asWire(`"${bytes.toString('base64')}"`)
  }
}

/** Far more than any known model has. Each takes a microsecond to write, and no other work runs meanwhile. */
const MOST_NUMBERS = 65_536
const MOST_BASE64 = Math.ceil((MOST_NUMBERS * FLOAT_BYTES) / 3) * 4
const TOO_MANY_NUMBERS = `an embedding has more than ${MOST_NUMBERS.toLocaleString('en')} numbers`

/** The most decimal places and digits needed to distinguish a 32-bit float from its neighbours. */
const MOST_PLACES = 12
const MOST_DIGITS = 9

/** Returns the shortest number that is the same 32-bit float: 0.1, not 0.10000000149011612. */
function shortest(float: number): number {
  if (!Number.isFinite(float)) return float
  // Trying each number with more and more digits would take ten times as long.
  if (Math.abs(float) >= LEAST_IN_PLACES && Math.abs(float) < MOST_IN_PLACES) {
    for (let places = 0, scale = 1; places <= MOST_PLACES; places++, scale *= 10) {
      const rounded = Math.round(float * scale) / scale
      if (Math.fround(rounded) === float) return rounded
    }
  }
  for (let digits = 1; digits < MOST_DIGITS; digits++) {
    const rounded = Number(float.toPrecision(digits))
    if (Math.fround(rounded) === float) return rounded
  }
  return Number(float.toPrecision(MOST_DIGITS))
}

/** Numbers in this range have their digits within {@link MOST_PLACES}. */
const LEAST_IN_PLACES = 1e-3
const MOST_IN_PLACES = 1e3

function writeFloats(values: readonly unknown[]): WireBytes {
  for (const value of values) checked(value)
  return asWire(JSON.stringify(values))
}

function checked(value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw unreadable('an embedding has a value that is not a number')
}
