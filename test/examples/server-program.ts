import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach } from 'vitest'
import { programFile } from '../helpers/program.js'

const ROOT = new URL('../..', import.meta.url)
const curlFile = fileURLToPath(new URL('../helpers/curl.mjs', import.meta.url))
let running: ChildProcess[] = []

afterEach(() => {
  for (const child of running) if (child.exitCode === null) child.kill('SIGKILL')
  running = []
})

/** Starts the example server in its own process, which ends with the test. */
export function run(env: Readonly<Record<string, string>>, args: readonly string[] = []): Promise<Program> {
  return runFile('examples/server/main.ts', env, args)
}

/** Starts any example in its own process, which ends with the test. */
export async function runFile(
  file: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<Program> {
  return runNode([await programFile(new URL(file, ROOT)), ...args], env)
}

/** Starts the example server as `npm start` does, which reads its TypeScript. */
export function runAsNpmStart(env: Readonly<Record<string, string>>): Program {
  return runNode(['--import', 'tsx', 'examples/server/main.ts'], env)
}

function runNode(args: readonly string[], env: Readonly<Record<string, string>>) {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(ROOT),
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.push(child)
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text
  })
  return { child, said }
}

type Program = ReturnType<typeof runNode>

/** Waits for output that matches. Throws all output if the process ends without a match. */
export async function said({ child, said: output }: Program, pattern: RegExp): Promise<string> {
  while (!pattern.test(output.stdout)) {
    const ended = once(child, 'close').then(() => 'ended')
    const more = once(child.stdout!, 'data').then(() => 'more')
    if ((await Promise.race([ended, more])) === 'ended' && !pattern.test(output.stdout)) {
      throw new Error(`It ended: ${output.stdout}${output.stderr}`)
    }
  }
  return output.stdout
}

/** Returns the text that it prints once it listens. */
export const greeting = (program: Program): Promise<string> => said(program, /"stream":true}'\n/)

export async function stopped({ child }: Program, signal: NodeJS.Signals): Promise<unknown> {
  const closed = once(child, 'close')
  child.kill(signal)
  return closed
}

/** Runs a command in a shell that has a `curl`. */
export async function paste(
  command: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { ...process.env, ...variables, NODE: process.execPath, CURL: curlFile }
  const script = `curl() { "$NODE" "$CURL" "$@"; }\n${command}`
  return (await promisify(execFile)('sh', ['-c', script], { env })).stdout
}

export function curlsOf(text: string): readonly string[] {
  return text.match(/^curl .*?'\n(?=\n|$)/gms) ?? []
}
