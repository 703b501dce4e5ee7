import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Incoming } from './incoming.js'
import { type Segment, type TakeTurn, writeSegments } from './segments.js'

/** A reply as it goes over the wire. */
export interface Delivery {
  readonly segments: readonly Segment[]
  /** Whether the provider ends the connection behind it. */
  readonly closes: boolean
}

/** A provider whose every byte is planned. */
export interface PlannedUpstream {
  readonly port: number
  /** How often each reply was asked for. */
  readonly asked: ReadonlyMap<string, number>
  close(): Promise<void>
}

/** `find` tells from the text of a request which reply is asked for. */
export async function startUpstream(
  replies: ReadonlyMap<string, Delivery>,
  find: (request: string) => string,
  takeTurn: TakeTurn,
): Promise<PlannedUpstream> {
  const asked = new Map<string, number>()
  const sockets = new Set<Socket>()

  async function serve(socket: Socket): Promise<void> {
    const incoming = new Incoming(socket)
    for (let head = await incoming.head(); head !== undefined; head = await incoming.head()) {
      const name = find((await incoming.body(head)).toString())
      const reply = replies.get(name)
      if (reply === undefined) throw new Error(`There is no reply to ${name}.`)
      asked.set(name, (asked.get(name) ?? 0) + 1)
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
