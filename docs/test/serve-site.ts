import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

export interface Site {
  readonly url: string
  close(): Promise<void>
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

/** Serves a folder on a loopback port, as any server of static files does. */
export async function serveSite(folder: string): Promise<Site> {
  const server = createServer(async (req, res) => {
    const path = decodeURIComponent(new URL(req.url!, 'http://site').pathname)
    const file = join(folder, normalize(path.endsWith('/') ? `${path}index.html` : path))
    const body = await readFile(file).catch(() => undefined)
    res.writeHead(body === undefined ? 404 : 200, {
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    })
    res.end(body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
