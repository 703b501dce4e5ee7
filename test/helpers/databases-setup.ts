import { once } from 'node:events'
import { createServer } from 'node:http'
import { build } from 'tsup'
import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgresServer } from './postgres-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where test files ask for what is started once for the whole run. */
    databases: string
  }
}

/**
 * Starts nothing by itself. The first test that asks gets a PostgreSQL started (or `DATABASE_URL`, where set) or the
 * SQLite worker built; all others share it, and it ends with the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined
  let worker: Promise<void> | undefined

  async function answer(path: string | undefined): Promise<string> {
    if (path === '/worker') {
      worker ??= buildWorker()
      await worker
      return ''
    }
    if (process.env.DATABASE_URL) return process.env.DATABASE_URL
    server ??= startPostgresServer(['-c', 'max_connections=200'])
    return (await server).url()
  }

  const broker = createServer((request, response) => {
    answer(request.url).then(
      (text) => response.end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  broker.listen(0, '127.0.0.1')
  await once(broker, 'listening')
  const { port } = broker.address() as { port: number }
  project.provide('databases', `http://127.0.0.1:${port}`)
  return async () => {
    broker.close()
    broker.closeAllConnections()
    await (await server)?.stop()
  }
}

/** The worker is found by the package's own name, and so in what was built. */
async function buildWorker(): Promise<void> {
  await build({
    config: false,
    entry: { 'sqlite-worker': 'src/sqlite/worker.ts' },
    format: ['cjs'],
    target: 'node20',
    silent: true,
    clean: false,
    outExtension: () => ({ js: '.cjs' }),
  })
}
