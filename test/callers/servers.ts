import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Handler = (req: IncomingMessage, res: ServerResponse) => void

/**
 * Two servers for all worlds, one in front of routers and one behind. Each world has its own path on both.
 */
export class Servers {
  private readonly handlers = new Map<string, Handler>()
  private readonly servers: http.Server[] = []
  private opened = 0
  frontPort = 0
  backPort = 0

  async start(): Promise<void> {
    this.frontPort = await this.listen()
    this.backPort = await this.listen()
  }

  /** Names a world, whose requests arrive at these from now on. */
  open(front: Handler, back: Handler): { readonly name: string; close(): void } {
    const name = `w${this.opened++}`
    const keys = [`${this.frontPort}/${name}`, `${this.backPort}/${name}`] as const
    this.handlers.set(keys[0], front)
    this.handlers.set(keys[1], back)
    return { name, close: () => void keys.map((key) => this.handlers.delete(key)) }
  }

  async close(): Promise<void> {
    for (const server of this.servers) {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }

  private async listen(): Promise<number> {
    let port = 0
    const server = http.createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (req, res) => {
      const [, world = ''] = (req.url ?? '').split('/', 2)
      const handler = this.handlers.get(`${port}/${world}`)
      if (handler === undefined) res.destroy()
      else handler(req, res)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.servers.push(server)
    port = (server.address() as AddressInfo).port
    return port
  }
}
