import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A forward proxy on a real socket of 127.0.0.1, which opens tunnels for `CONNECT`. */
export interface ConnectProxy {
  readonly url: string
  /** The target of each `CONNECT`, oldest first. */
  readonly targets: readonly string[]
  readonly openTunnels: number
  /** Answers each `CONNECT` from now on with this status. 200 opens a tunnel. */
  answer(status: number): void
  close(): Promise<void>
}

export async function startConnectProxy(): Promise<ConnectProxy> {
  const targets: string[] = []
  const sockets = new Set<Socket>()
  const tunnels = new Set<Socket>()
  let status = 200

  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    keep(client)
    let head = ''
    const onData = (bytes: Buffer): void => {
      head += bytes.toString('latin1')
      if (!head.includes('\r\n\r\n')) return
      client.off('data', onData)
      const [method, target = ''] = head.split(' ')
      if (method !== 'CONNECT') return void client.destroy()
      targets.push(target)
      if (status !== 200) return void client.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n\r\n`)
      const colon = target.lastIndexOf(':')
      const server = connect(Number(target.slice(colon + 1)), target.slice(0, colon))
      keep(server)
      server.on('connect', () => {
        tunnels.add(server)
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        client.pipe(server)
        server.pipe(client)
      })
      server.on('close', (hadError) => {
        tunnels.delete(server)
        if (hadError) client.resetAndDestroy()
        else client.end()
      })
      client.on('close', () => server.destroy())
    }
    client.on('data', onData)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
  return {
    url: `http://127.0.0.1:${address.port}`,
    targets,
    get openTunnels() {
      return tunnels.size
    },
    answer(code) {
      status = code
    },
    async close() {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await stopped
    },
  }
}
