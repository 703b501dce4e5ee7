import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * The point at which a reply is lost: after the request was passed on, at the start of the reply, in its
 * head, in its body, or never.
 */
export type Cut = 'after-request' | 'before-head' | 'in-head' | 'in-body' | 'none'

export interface CuttingProxy {
  readonly port: number
  readonly cuts: Readonly<Record<Cut, number>>
  close(): Promise<void>
}

const SHARES: readonly (readonly [Cut, number])[] = [
  ['after-request', 0.1],
  ['before-head', 0.12],
  ['in-head', 0.12],
  ['in-body', 0.26],
  ['none', 0.4],
]
const HEAD_END = '\r\n\r\n'
/** A cut this far into a body is inside it or after its end. */
const BODY_BYTES = 2_500

/**
 * A proxy of connections that loses replies at random, and passes each connection on to one of several
 * servers.
 */
export async function startCuttingProxy(
  ports: readonly number[],
  random: () => number,
): Promise<CuttingProxy> {
  const cuts: Record<Cut, number> = {
    'after-request': 0,
    'before-head': 0,
    'in-head': 0,
    'in-body': 0,
    none: 0,
  }
  const sockets = new Set<Socket>()

  function keep(socket: Socket): Socket {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    return socket.setNoDelay()
  }

  const server = createServer((socket) => {
    const client = keep(socket)
    const upstream = keep(connect(ports[Math.floor(random() * ports.length)]!, '127.0.0.1'))
    let cut: Cut = 'none'
    let reply = Buffer.alloc(0)
    let passed = 0
    let isReplying = true

    function lose(): void {
      cuts[cut]++
      upstream.destroy()
      if (random() < 0.5) client.destroy()
      else client.resetAndDestroy()
    }

    /** How many of the received bytes to pass on, and whether the connection is then lost. */
    function limit(): { bytes: number; ends: boolean } {
      const headEnd = reply.indexOf(HEAD_END)
      const all = { bytes: reply.length, ends: false }
      if (cut === 'before-head') return { bytes: 0, ends: true }
      if (cut === 'in-head') {
        return { bytes: Math.floor(random() * (headEnd === -1 ? reply.length : headEnd)), ends: true }
      }
      if (cut !== 'in-body' || headEnd === -1) return all
      const most = headEnd + HEAD_END.length + bodyBytes
      return most < reply.length ? { bytes: most, ends: true } : all
    }

    let bodyBytes = 0
    client.on('data', (bytes) => {
      if (isReplying) {
        isReplying = false
        reply = Buffer.alloc(0)
        passed = 0
        cut = draw(random())
        bodyBytes = Math.floor(random() * BODY_BYTES)
        if (cut === 'none') cuts.none++
      }
      upstream.write(bytes)
      if (cut === 'after-request') setImmediate(lose)
    })
    upstream.on('data', (bytes: Buffer) => {
      isReplying = true
      reply = Buffer.concat([reply, bytes])
      const { bytes: end, ends } = limit()
      const more = reply.subarray(passed, Math.max(end, passed))
      passed += more.length
      if (!ends) client.write(more)
      else if (more.length === 0) lose()
      else client.write(more, lose)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    cuts,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function draw(number: number): Cut {
  let sum = 0
  for (const [cut, share] of SHARES) {
    sum += share
    if (number < sum) return cut
  }
  return 'none'
}
