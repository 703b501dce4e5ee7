import { once } from 'node:events'
import type { Command } from 'commander'
import { parseInteger } from '../context/parse.js'

const HIGHEST_PORT = 65_535

/** The demo is loaded only if it is run. */
export function addDemoCommand(program: Command, write: (text: string) => void): void {
  program
    .command('demo')
    .description(
      'run a router with a stand-in for the provider, to try it; the console too if libsql is installed',
    )
    .option('--port <port>', 'of 127.0.0.1; 0 for any free one', parseInteger, 3000)
    .action(async ({ port }: { port: number }) => {
      if (port > HIGHEST_PORT) throw new Error(`--port must be at most ${HIGHEST_PORT}; got ${port}`)
      const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      const { startDemo } = await import('../../demo/index.js')
      const demo = await startDemo({ port, hasDatabase: await isInstalled('libsql'), write })
      await interrupted
      await demo.close()
    })
}

async function isInstalled(name: string): Promise<boolean> {
  try {
    await import(name)
    return true
  } catch {
    return false
  }
}
