import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** An address that can be moved from one server to another, as those of a name or a load balancer are. */
export interface Address {
  readonly port: number
  /** Lets nothing more through on the open connections, without ending them. */
  stall(): void
  /** Ends all connections, and leads new ones to another port. Without a port, new ones are refused. */
  moveTo(port: number | undefined): void
  close(): Promise<void>
}

export async function startAddress(to: number): Promise<Address> {
  let target: number | undefined = to
  let isStalled = false
  const sockets = new Set<Socket>()

  function keep(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    if (isStalled) socket.pause()
  }

  const server = createServer((client) => {
    keep(client)
    if (target === undefined) {
      client.destroy()
      return
    }
    const upstream = connect(target, '127.0.0.1')
    keep(upstream)
    for (const [from, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.setNoDelay()
      from.on('data', (bytes) => {
        if (!isStalled) other.write(bytes)
      })
      from.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  function endAll(): void {
    for (const socket of sockets) socket.destroy()
  }

  return {
    port: (server.address() as { port: number }).port,
    stall() {
      isStalled = true
      for (const socket of sockets) socket.pause()
    },
    moveTo(port) {
      target = port
      isStalled = false
      endAll()
    },
    async close() {
      endAll()
      server.close()
      await once(server, 'close')
    },
  }
}
