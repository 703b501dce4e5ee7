import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Express } from 'express'
import { createApp, type ExampleApp } from './app.js'
import { greeting } from './greeting.js'
import { readSettings, type Settings, SettingsError } from './settings.js'

const say = (text: string) => process.stdout.write(`${text}\n`)

async function main(): Promise<void> {
  const settings = readSettings(process.env, process.argv.slice(2))
  const server = createServer()
  // First, because Connect must know its own address.
  await listen(server, settings)
  const origin = originOf(server, settings.host)
  // Anybody may sign in to Connect here, so nobody else may reach it.
  const isLoopback = ['127.0.0.1', '::1', 'localhost'].includes(settings.host)
  const example = await createApp({ ...settings, log: say, ...(isLoopback ? { origin } : {}) })
  server.on('request', example.app)
  const notes = example.notes === undefined ? undefined : await serveBeside(server, 1, example.notes)
  const metrics = await serveBeside(server, 2, example.metrics)
  closeOnSignal(server, notes === undefined ? [metrics] : [notes, metrics], example)
  const credentials = await example.credentials({ renew: settings.newKeys })
  const isDemo = settings.upstream === undefined
  const notesOrigin = notes === undefined ? undefined : originOf(notes, '127.0.0.1')
  say(await greeting(example, credentials, origin, isDemo, originOf(metrics, '127.0.0.1'), notesOrigin))
}

/** Serves an app on loopback, on a port that follows the host's, or on any other if that one is taken. */
async function serveBeside(host: Server, offset: number, app: Express): Promise<Server> {
  const { port } = host.address() as AddressInfo
  const server = createServer(app).listen(port + offset <= 65_535 ? port + offset : 0, '127.0.0.1')
  await once(server, 'listening').catch(() => once(server.listen(0, '127.0.0.1'), 'listening'))
  return server
}

async function listen(server: Server, { port, host }: Settings): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    const where = `port ${port} of ${host}`
    const help: Record<string, string> = {
      EADDRINUSE: `Another program already listens on ${where}. Choose another port: PORT=${port === 65_535 ? 3001 : port + 1} npm start`,
      EACCES: `This user may not listen on ${where}. Choose a port of at least 1024: PORT=3000 npm start`,
      EADDRNOTAVAIL: `${host} is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all of them.`,
      ENOTFOUND: `HOST is not a known machine: ${host}. Without HOST, the server listens on 127.0.0.1.`,
    }
    throw new SettingsError(help[error.code ?? ''] ?? `Cannot listen on ${where}: ${error.message}`)
  })
}

/** The first signal lets calls finish. A second one ends the process at once. */
function closeOnSignal(server: Server, others: readonly Server[], example: ExampleApp): void {
  let closing = false
  const close = (): void => {
    if (closing) process.exit(1)
    closing = true
    say('Closing. Calls in flight may finish.')
    server.close()
    for (const other of others) {
      other.close()
      other.closeAllConnections()
    }
    example
      .close()
      .then(() => {
        server.closeAllConnections()
        process.exitCode = 0
      })
      .catch(exitWith)
  }
  process.on('SIGINT', close)
  process.on('SIGTERM', close)
}

function originOf(server: Server, host: string): string {
  const reachable = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  const name = reachable.includes(':') ? `[${reachable}]` : reachable
  return `http://${name}:${(server.address() as AddressInfo).port}`
}

function exitWith(error: unknown): void {
  process.stderr.write(
    `${error instanceof SettingsError ? error.message : error instanceof Error ? error.stack : error}\n`,
  )
  process.exit(1)
}

main().catch(exitWith)
