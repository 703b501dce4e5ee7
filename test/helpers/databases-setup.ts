import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'tsup'
import type { TestProject } from 'vitest/node'
import { postgresStores } from '../../src/postgres/index.js'
import { buildConsole } from './build-console.js'
import { unpackChromium } from './chromium.js'
import { createDatabase, createPool, dropDatabase } from './postgres-databases.js'
import { type PostgresServer, startPostgresServer } from './postgres-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address at which test files request servers that start once for the whole run. */
    databases: string
  }
}

/** Its databases end with the run, so nothing needs to survive a loss of power. */
const SERVER = ['-c', 'max_connections=300', '-c', 'fsync=off']

/**
 * Starts nothing by itself. The first test that asks triggers the start of a PostgreSQL (or uses
 * `DATABASE_URL`, if set), the build of the SQLite worker or the console's pages, or the unpacking of the
 * browser. All others share it, and it ends with the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined
  let template: Promise<string> | undefined
  let worker: Promise<void> | undefined
  let pages: Promise<void> | undefined
  let browser: Promise<string> | undefined

  async function answer(path: string | undefined): Promise<string> {
    if (path === '/worker') {
      worker ??= buildWorker()
      await worker
      return ''
    }
    if (path === '/console') {
      pages ??= buildConsole()
      await pages
      return ''
    }
    if (path === '/chromium') {
      browser ??= unpackBrowser()
      return browser
    }
    if (path === '/template') {
      template ??= findServer().then(createTemplate)
      return template
    }
    return findServer()
  }

  async function findServer(): Promise<string> {
    if (process.env.DATABASE_URL) return process.env.DATABASE_URL
    // While the browser is unpacked, temporary folders of this process are in its folder, which PostgreSQL may not enter.
    await browser
    server ??= startPostgresServer(SERVER)
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
    if (server === undefined && template !== undefined) await dropDatabase(await findServer(), await template)
    await (await server)?.stop()
    if (browser !== undefined) await rm(await browser, { recursive: true, force: true })
  }
}

/** The worker is found by the package's own name, so in the build. */
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

/** Returns the name of a database with the package's tables, to copy: a copy takes a fifth of a migration. */
async function createTemplate(server: string): Promise<string> {
  const { name, url } = await createDatabase(server)
  const pool = createPool(url)
  const stores = postgresStores(pool)
  await stores.ready()
  await stores.close()
  await pool.end()
  return name
}

async function unpackBrowser(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'compat-router-browser-'))
  await unpackChromium(folder)
  return folder
}
