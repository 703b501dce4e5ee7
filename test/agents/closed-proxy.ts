import { createServer } from 'node:http'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'

/** A proxy that lets nothing through, and knows who wanted to go where. */
export class ClosedProxy {
  readonly wanted = new Set<string>()

  private constructor(private readonly host: MountedHost) {}

  static async start(): Promise<ClosedProxy> {
    const server = createServer((request, response) => {
      proxy.wanted.add(String(request.url))
      response.writeHead(403).end()
    })
    server.on('connect', (request, socket) => {
      proxy.wanted.add(String(request.url))
      socket.on('error', () => undefined)
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    })
    const proxy = new ClosedProxy(await listenHttp(server, ''))
    return proxy
  }

  /** The environment of a program that must reach nothing but this machine. */
  get env(): Readonly<Record<string, string>> {
    const { baseUrl } = this.host
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']
    return {
      ...Object.fromEntries(names.map((name) => [name, baseUrl])),
      NO_PROXY: '127.0.0.1',
      no_proxy: '127.0.0.1',
    }
  }

  close(): Promise<void> {
    return this.host.close()
  }
}
