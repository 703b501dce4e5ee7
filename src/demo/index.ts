import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCompatRouter } from '../index.js'
import { startStandIn } from '../testing/index.js'
import { DEMO_ACCOUNT, demoModels } from './models.js'
import { type DemoStores, openMemoryStores } from './stores.js'

export interface DemoOptions {
  /** 0 for any free port. */
  readonly port: number
  /** Whether to keep everything in a temporary SQLite file, which needs `libsql`, and to serve the console. */
  readonly hasDatabase: boolean
  readonly write: (text: string) => void
}

export interface Demo {
  readonly origin: string
  readonly apiKey: string
  /** Lets calls finish, then closes and removes everything. */
  close(): Promise<void>
}

const MOUNT = '/compat/v1'
const HOST = '127.0.0.1'

/**
 * Starts a router on a bare `node:http` server of this machine, with a stand-in for the provider, and prints calls to
 * try. Throws an error with a remedy if the port is taken. If it throws, nothing stays open.
 */
export async function startDemo(options: DemoOptions): Promise<Demo> {
  const closers: Closer[] = []
  const close = () => closeAll(closers)
  try {
    return { ...(await open(options, closers)), close }
  } catch (error) {
    await close()
    throw error
  }
}

type Closer = () => Promise<void>

/** Opens each part and adds the function that closes it. */
async function open(
  { hasDatabase, port, write }: DemoOptions,
  closers: Closer[],
): Promise<Omit<Demo, 'close'>> {
  const standIn = await startStandIn()
  closers.push(() => standIn.close())
  const opened = await (hasDatabase
    ? import('./durable-stores.js').then(({ openDurableStores }) => openDurableStores(standIn, MOUNT))
    : openMemoryStores(standIn))
  closers.push(() => opened.close())
  const { pages } = opened
  const router = createCompatRouter({
    stores: opened.stores,
    basePath: MOUNT,
    ...(pages !== undefined && { onEvent: pages.onEvent }),
  })
  pages?.observe(router)
  const server = createServer((req, res) =>
    router(req, res, () => {
      const next = (): void => {
        res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' })
        res.end(`Nothing is here. The base URL is ${origin}${MOUNT}\n`)
      }
      if (pages === undefined) next()
      else pages.serve(req, res, next)
    }),
  )
  let origin = ''
  closers.push(async () => {
    server.close()
    await router.close()
    server.closeAllConnections()
  })
  await listen(server, port)
  origin = `http://${HOST}:${(server.address() as AddressInfo).port}`
  write(greeting(origin, opened))
  return { origin, apiKey: opened.apiKey }
}

/** Closes the last one first, and continues if one fails. */
async function closeAll(closers: Closer[]): Promise<void> {
  const last = closers.pop()
  if (last === undefined) return
  try {
    await last()
  } finally {
    await closeAll(closers)
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, HOST)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    const other = port === 65_535 ? 3001 : port + 1
    throw error.code === 'EADDRINUSE'
      ? new Error(`Another program already listens on port ${port}. Choose another one: --port ${other}`)
      : error
  })
}

function greeting(origin: string, { apiKey, pages }: DemoStores): string {
  const baseUrl = `${origin}${MOUNT}`
  const [model] = [...demoModels.values()]
  const curl = (flags: string, more: object): string =>
    [
      `curl ${flags}${baseUrl}/chat/completions \\`,
      `  -H 'authorization: Bearer ${apiKey}' \\`,
      "  -H 'content-type: application/json' \\",
      `  -d '${JSON.stringify({ model: model!.id, messages: [{ role: 'user', content: 'Hello!' }], ...more })}'`,
    ].join('\n')
  const console =
    pages === undefined
      ? 'needs a database: npx -p compat-router -p libsql compat-router demo'
      : `${pages.signInLink(origin)}\n           works once, within an hour`
  return `
A stand-in answers instead of a real model. Everything is gone when the demo ends (Ctrl+C).

Base URL   ${baseUrl}
API key    ${apiKey}  (${DEMO_ACCOUNT.id} pays, balance ${DEMO_ACCOUNT.credits} credits)
Models     ${[...demoModels.values()].map(({ id }) => id).join(', ')}
Console    ${console}

A completion, with its cost in usage.cost:

${curl('', {})}

The same as a stream, with its cost in the last chunk:

${curl('-N ', { stream: true })}

`
}
