import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createApp, type ExampleApp } from './app.js'
import { greeting } from './greeting.js'
import { readSettings, type Settings, SettingsError } from './settings.js'

const say = (text: string) => process.stdout.write(`${text}\n`)

async function main(): Promise<void> {
  const settings = readSettings(process.env, process.argv.slice(2))
  const example = await createApp({ ...settings, log: say })
  const server = createServer(example.app)
  try {
    await listen(server, settings)
  } catch (error) {
    await example.close()
    throw error
  }
  closeOnSignal(server, example)
  // Not earlier: new keys are shown only here, and listening could have failed.
  const credentials = await example.credentials({ renew: settings.newKeys })
  const isDemo = settings.upstream === undefined
  say(await greeting(example, credentials, originOf(server, settings.host), isDemo))
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
function closeOnSignal(server: Server, example: ExampleApp): void {
  let closing = false
  const close = (): void => {
    if (closing) process.exit(1)
    closing = true
    say('Closing. Calls in flight may finish.')
    server.close()
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
