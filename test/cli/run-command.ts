import { Readable } from 'node:stream'
import { runCli } from '../../src/cli/run-cli.js'

/** Runs a command in this process. */
export async function runCommand(args: readonly string[], env: Readonly<Record<string, string>>, stdin = '') {
  let out = ''
  let said = ''
  const exitCode = await runCli(args, {
    env,
    stdin: Readable.from([Buffer.from(stdin)]),
    write: (text) => {
      out += text
    },
    writeError: (text) => {
      said += text
    },
  })
  return { exitCode, out, said }
}
