import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Head, Incoming } from './incoming.js'
import type { Lane, PlannedCall } from './scenario.js'
import { type TakeTurn, writeSegments } from './segments.js'

/** A reply as its client received it, `head` and `body` byte for byte. */
export interface Reply {
  readonly head: Head
  /** Undefined if the client did not stay for it. */
  readonly body: string | undefined
}

/** Plays a lane and reads the replies without a client library that could repair them. */
export async function playLane(
  port: number,
  lane: Lane,
  takeTurn: TakeTurn,
): Promise<ReadonlyMap<string, Reply>> {
  const replies = new Map<string, Reply>()
  let connection: Connection | undefined
  for (const calls of lane) {
    connection ??= await Connection.open(port)
    const sent = connection.send(calls, takeTurn)
    for (const call of calls) {
      const reply = await connection.read(call)
      replies.set(call.id, reply)
      if (reply.body === undefined || reply.head.headers.connection === 'close') {
        await connection.close()
        connection = undefined
        break
      }
    }
    await sent
  }
  await connection?.close()
  return replies
}

class Connection {
  readonly #incoming: Incoming

  private constructor(private readonly socket: Socket) {
    this.#incoming = new Incoming(socket)
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    return new Connection(socket)
  }

  async send(calls: readonly PlannedCall[], takeTurn: TakeTurn): Promise<void> {
    for (const { request } of calls) await writeSegments(this.socket, request, takeTurn)
  }

  async read({ id, leaves }: PlannedCall): Promise<Reply> {
    const head = await this.#incoming.head()
    if (head === undefined) throw new Error(`The connection ended before the reply to ${id}.`)
    if (!leaves) return { head, body: (await this.#incoming.body(head)).toString('latin1') }
    await this.#incoming.has(1)
    this.socket.destroy()
    return { head, body: undefined }
  }

  /** Throws if any bytes follow the last reply. */
  async close(): Promise<void> {
    if (this.socket.destroyed) return
    this.socket.end()
    if (!this.socket.closed) await once(this.socket, 'close')
    const { unread } = this.#incoming
    if (unread !== '')
      throw new Error(`The last reply was followed by ${JSON.stringify(unread.slice(0, 200))}.`)
  }
}
