import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserServer } from 'playwright-core'
import { build } from 'tsup'
import type { TestProject } from 'vitest/node'
import { buildConsole } from './build-console.js'
import { serveChromium, unpackChromium } from './chromium.js'
import {
  createDatabase,
  createPool,
  dropDatabase,
  mayCreateDatabases,
  migrate,
} from './postgres-databases.js'
import { type PostgresServer, startPostgresServer } from './postgres-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address at which test files request servers that start once for the whole run. */
    databases: string
    /** The server itself, if `databases` are reached through a pooler in transaction mode. */
    direct?: string
  }
}

/** Its databases end with the run, so nothing needs to survive a loss of power. */
const SERVER = ['-c', 'max_connections=300', '-c', 'fsync=off']

/**
 * Starts nothing by itself. The first test that asks triggers the start of a PostgreSQL (or uses
 * `DATABASE_URL`, if its role may create databases), the build of the SQLite worker or the console's pages, or the unpacking and start of
 * the browser. All others share it, and it ends with the run.
 */
export default function setup(project: TestProject): Promise<() => Promise<void>> {
  return setUpDatabases(project, process.env.DATABASE_URL)
}

/** @param address where to create databases; if absent, on a server that is started */
export async function setUpDatabases(
  project: TestProject,
  address: string | undefined,
): Promise<() => Promise<void>> {
  let given: Promise<string | undefined> | undefined
  let server: Promise<PostgresServer> | undefined
  let template: Promise<string> | undefined
  let worker: Promise<void> | undefined
  let pages: Promise<void> | undefined
  let browser: Promise<SharedBrowser> | undefined

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
      browser ??= startBrowser()
      return (await browser).server.wsEndpoint()
    }
    if (path === '/template') {
      template ??= findServer().then(createTemplate)
      return template
    }
    return findServer()
  }

  async function findServer(): Promise<string> {
    given ??= findGivenServer(address)
    const url = await given
    if (url !== undefined) return url
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
    await (await browser)?.end()
  }
}

/** The given server, if tests may create databases on it. */
async function findGivenServer(url: string | undefined): Promise<string | undefined> {
  if (!url || (await mayCreateDatabases(url))) return url || undefined
  console.warn('The role of DATABASE_URL may not create databases: the tests start a server of their own.')
  return undefined
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
  await migrate(pool)
  await pool.end()
  return name
}

interface SharedBrowser {
  readonly server: BrowserServer
  end(): Promise<void>
}

async function startBrowser(): Promise<SharedBrowser> {
  const folder = await mkdtemp(join(tmpdir(), 'compat-router-browser-'))
  await unpackChromium(folder)
  const server = await serveChromium(folder)
  return {
    server,
    async end() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
