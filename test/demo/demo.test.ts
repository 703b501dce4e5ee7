import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startDemo } from '../../src/demo/index.js'
import { curlsOf, paste } from '../examples/server-program.js'

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))

async function open(hasDatabase: boolean) {
  let text = ''
  const demo = await startDemo({ port: 0, hasDatabase, write: (written) => (text += written) })
  onTestFinished(demo.close)
  return { ...demo, text }
}

describe.each([
  ['in memory', false],
  ['in a temporary database', true],
])('the demo %s', (_, hasDatabase) => {
  it('prints two calls that work as pasted and show their cost', async () => {
    const { text } = await open(hasDatabase)
    const [whole, stream] = curlsOf(text)
    const cost = /"cost":(0\.0000\d+)/.exec(await paste(whole!))![1]
    const chunks = (await paste(stream!)).trim().split('\n\n')
    expect(chunks.at(-1)).toBe('data: [DONE]')
    expect(chunks.at(-2)).toContain(`"cost":${cost}`)
  })

  it('serves its models to a client, and says where the base URL is', async () => {
    const { apiKey, origin } = await open(hasDatabase)
    const client = new OpenAI({ apiKey, baseURL: `${origin}/compat/v1` })
    const models = await client.models.list()
    expect(models.data.map(({ id }) => id)).toEqual(['demo/small', 'demo/large'])
    const elsewhere = await fetch(`${origin}/nowhere`)
    expect([elsewhere.status, await elsewhere.text()]).toEqual([
      404,
      `Nothing is here. The base URL is ${origin}/compat/v1\n`,
    ])
  })

  it('explains what to do if its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    await expect(startDemo({ port, hasDatabase, write: () => undefined })).rejects.toThrow(
      `Another program already listens on port ${port}. Choose another one: --port ${port + 1}`,
    )
  })
})

it('the demo signs in to the console with the printed link, but only with a database', async () => {
  const { text } = await open(true)
  const link = /Console +(http\S+)/.exec(text)![1]!
  const page = await fetch(link)
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('<html')
  expect((await open(false)).text).toContain('npx -p compat-router -p libsql compat-router demo')
})

it('the demo loads a web framework, database or telemetry only when it needs it', () => {
  const seen = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, from = '', alone = ''] of text.matchAll(
      /^(?:import|export)\s[^'"]*from\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]/gm,
    )) {
      const name = from === '' ? alone : from
      if (name.startsWith('.')) visit(join(dirname(file), name))
      else if (!name.startsWith('node:')) packages.add(name)
    }
  }
  visit(join(DIST, 'demo.js'))
  expect(seen.size).toBeGreaterThan(1)
  for (const unwanted of ['express', 'libsql', 'pg', '@opentelemetry/api']) {
    expect([...packages].filter((name) => name === unwanted || name.startsWith(`${unwanted}/`))).toEqual([])
  }
  // The way out, which loads undici.
  expect([...packages]).toContain('#sender')
})

it('the demo runs from the command line until it is interrupted', async () => {
  const child = spawn(process.execPath, [join(DIST, 'cli.js'), 'demo', '--port', '0'])
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    if (curlsOf(text).length === 2) child.kill('SIGINT')
  }
  expect(await closed).toEqual([0, null])
  expect(text).toContain('/sign-in#')
})

it('the demo exits if its database cannot be opened', async () => {
  const env = { ...process.env, TMPDIR: join(DIST, 'no-such-folder') }
  const child = spawn(process.execPath, [join(DIST, 'cli.js'), 'demo', '--port', '0'], { env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let text = ''
  for await (const chunk of child.stderr) text += String(chunk)
  expect(await closed).toEqual([1, null])
  expect(text).toContain('no-such-folder')
})
