import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const curlFile = fileURLToPath(new URL('../helpers/curl.mjs', import.meta.url))
let running: ChildProcess[] = []

afterEach(() => {
  for (const child of running) if (child.exitCode === null) child.kill('SIGKILL')
  running = []
})

function run(env: Record<string, string>) {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/server/main.ts'], {
    cwd: root,
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

/** Waits for output that matches. Fails with all output where the process ends without it. */
async function said({ child, said: output }: ReturnType<typeof run>, pattern: RegExp): Promise<string> {
  while (!pattern.test(output.stdout)) {
    const ended = once(child, 'close').then(() => 'ended')
    const more = once(child.stdout!, 'data').then(() => 'more')
    if ((await Promise.race([ended, more])) === 'ended' && !pattern.test(output.stdout)) {
      throw new Error(`It ended: ${output.stdout}${output.stderr}`)
    }
  }
  return output.stdout
}

async function paste(command: string): Promise<string> {
  const env = { ...process.env, NODE: process.execPath, CURL: curlFile }
  const script = `curl() { "$NODE" "$CURL" "$@"; }\n${command}`
  return (await promisify(execFile)('sh', ['-c', script], { env })).stdout
}

describe('npm start', { timeout: 60_000 }, () => {
  it('prints keys and curls that work as they are printed, and closes on a signal', async () => {
    const server = run({ PORT: '0' })
    const text = await said(server, /"stream":true}'\n/)
    expect(text).toMatch(/Base URL +http:\/\/127\.0\.0\.1:\d+\/compat\/v1\n/)
    expect(text).toMatch(/Demo API key +sk-[\w-]+ +\(balance 5 credits\)/)
    expect(text).toMatch(/Demo access token +at-[\w-]+ +\(balance 5 credits/)

    const [json, stream] = text.match(/^curl .*?'\n(?=\n|$)/gms)!
    const reply = JSON.parse(await paste(json!)) as { usage: { cost: number } }
    expect(reply.usage.cost).toBeGreaterThan(0)
    const events = (await paste(stream!)).trim().split('\n\n')
    expect(events.at(-1)).toBe('data: [DONE]')
    expect(JSON.parse(events.at(-2)!.slice('data: '.length))).toMatchObject({
      choices: [],
      usage: reply.usage,
    })

    server.child.kill('SIGTERM')
    expect(await once(server.child, 'close')).toEqual([0, null])
    expect(server.said.stderr).toBe('')
  })

  it('says what to do where the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const { child, said: output } = run({ PORT: String(port) })
    expect(await once(child, 'close')).toEqual([1, null])
    expect(output.stderr).toContain(`Something else listens on port ${port} of 127.0.0.1 already`)
    expect(output.stderr).not.toContain('    at ')
    await new Promise((done) => other.close(done))
  })

  it('says what is wrong with a setting', async () => {
    const { child, said: output } = run({ PORT: 'http' })
    expect(await once(child, 'close')).toEqual([1, null])
    expect(output.stderr).toBe('PORT must be a number from 0 to 65535, such as 3000; it is "http".\n')
  })
})
