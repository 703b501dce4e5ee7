import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Incoming } from './incoming.js'
import { type Segment, type TakeTurn, writeSegments } from './segments.js'

/** A reply as bytes on the wire. */
export interface Delivery {
  readonly segments: readonly Segment[]
  /** Whether the provider then ends the connection. */
  readonly closes: boolean
}

/** A request as the provider reads it, with its long texts shortened. */
export interface Asked {
  readonly body: Readonly<Record<string, unknown>>
  /** The number of names in its text. It is larger than in its body if an object repeats a name. */
  readonly names: number
}

const SHORT_CHARACTERS = 100
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/** A provider whose every byte is planned. */
export interface PlannedUpstream {
  readonly port: number
  /** The requests that asked for each reply. */
  readonly asked: ReadonlyMap<string, readonly Asked[]>
  close(): Promise<void>
}

/** `find` returns the name of the reply that a request asks for. */
export async function startUpstream(
  replies: ReadonlyMap<string, Delivery>,
  find: (request: Asked['body']) => string,
  takeTurn: TakeTurn,
): Promise<PlannedUpstream> {
  const asked = new Map<string, Asked[]>()
  const sockets = new Set<Socket>()

  async function serve(socket: Socket): Promise<void> {
    const incoming = new Incoming(socket)
    for (let head = await incoming.head(); head !== undefined; head = await incoming.head()) {
      const request = read((await incoming.body(head)).toString())
      const name = find(request.body)
      const reply = replies.get(name)
      if (reply === undefined) throw new Error(`There is no reply to ${name}.`)
      asked.set(name, [...(asked.get(name) ?? []), request])
      await writeSegments(socket, reply.segments, takeTurn)
      if (reply.closes) {
        socket.end()
        return
      }
    }
  }

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serve(socket).catch(() => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function read(text: string): Asked {
  const strings = [...text.matchAll(STRING)]
  return { body: JSON.parse(text, shorten), names: strings.filter(([, colon]) => colon !== undefined).length }
}

/** A difference within thousands of characters would be hard to read. */
function shorten(_: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= SHORT_CHARACTERS) return value
  const digest = createHash('sha256').update(value, 'utf16le').digest('hex')
  return `${value.slice(0, SHORT_CHARACTERS)}… ${value.length} characters ${digest}`
}
