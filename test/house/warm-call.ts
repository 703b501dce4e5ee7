/**
 * Prints the functions of `src` that one warm JSON call runs through, by file and in the order of the file. Warm means
 * that the same process has answered the same call 500 times before. V8 counts the fields of a class as one function.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from '../../src/index.js'

const SRC = new URL('../../src/', import.meta.url).href
const CALLS_BEFORE = 500
const COMPLETION = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_767_225_600, model: 'upstream' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
}

const upstream = await listen((req, res) => {
  req.resume().on('end', () => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(COMPLETION))
  })
})
const adapter = openaiCompatible({ baseUrl: `${upstream.origin}/v1`, apiKey: 'sk-provider' })
const router = createCompatRouter({
  basePath: '/v1',
  credentials: memoryCredentials({ 'sk-caller': { kind: 'api-key', account: 'alice' } }),
  catalogue: memoryCatalogue([{ id: 'model', prices: { input: '1', output: '1' } }]),
  ledger: memoryLedger({ alice: '100' }),
  providers: memoryProviders([{ id: 'provider', models: { model: 'upstream' }, adapter }]),
  onEvent() {},
})
const host = await listen((req, res) => router(req, res, () => res.writeHead(404).end()))

// Optimized code does not count its calls.
setFlagsFromString('--no-opt')
setFlagsFromString('--no-maglev')
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
for (let n = 0; n < CALLS_BEFORE; n++) await call()
await session.post('Profiler.takePreciseCoverage') // sets every count to zero
await call()
const { result } = await session.post('Profiler.takePreciseCoverage')
session.disconnect()

await router.close()
await adapter.close?.()
host.close()
upstream.close()

let files = 0
let functions = 0
for (const script of result.sort((a, b) => (a.url < b.url ? -1 : 1))) {
  if (!script.url.startsWith(SRC)) continue
  const called = script.functions
    .map(({ functionName, ranges }) => ({ name: functionName || 'anonymous', ...ranges[0]! }))
    // The code of the module itself begins at 0, and `__name` is of tsx.
    .filter(({ name, count, startOffset }) => count > 0 && startOffset > 0 && name !== '__name')
    .sort((a, b) => a.startOffset - b.startOffset)
  if (called.length === 0) continue
  files++
  functions += called.length
  console.log(script.url.slice(SRC.length))
  for (const { name } of called) console.log(`  ${name}`)
}
console.log(`\nOne warm JSON call runs through ${files} files and ${functions} functions of src.`)

async function call(): Promise<void> {
  const response = await fetch(`${host.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-caller', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'model', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  if (response.status !== 200) throw new Error(`The router replied ${response.status}`)
  await response.text()
  while (router.inFlight > 0 || router.openHolds > 0) await new Promise(setImmediate)
}

async function listen(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
