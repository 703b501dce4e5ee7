import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openaiCompatible } from '../../../src/providers/openai-compatible/index.js'
import { runCall } from './run-call.js'

const COMPLETION = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
}

async function startProvider() {
  let calls = 0
  const server = createServer((request, response) => {
    calls++
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(COMPLETION))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const connections: Socket[] = []
  const hear = (message: unknown) => connections.push((message as { socket: Socket }).socket)
  subscribe('undici:client:connected', hear)
  const adapter = openaiCompatible({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  onTestFinished(async () => {
    unsubscribe('undici:client:connected', hear)
    await adapter.close?.()
    server.close()
    server.closeAllConnections()
  })
  return { adapter, connections, calls: () => calls }
}

const settings = { stream: false, request: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] } }

/** Emits the error of a read that found the connection reset. undici notices it in the next tick. */
function reset(connection: Socket): void {
  connection.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }))
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('a call is sent on a new connection if the kept one was reset before any of it was sent', async () => {
  const { adapter, connections, calls } = await startProvider()
  await runCall(adapter, settings)
  await turn()
  reset(connections[0]!)
  const { events, error } = await runCall(adapter, settings)
  expect(error).toBeUndefined()
  expect(events).toMatchObject([{ type: 'completion' }])
  expect(calls()).toBe(2)
  expect(connections).toHaveLength(2)
})

it('a call is not sent again on a new connection if it was aborted in the meantime', async () => {
  const { adapter, connections, calls } = await startProvider()
  await runCall(adapter, settings)
  await turn()
  reset(connections[0]!)
  const controller = new AbortController()
  const running = runCall(adapter, { ...settings, signal: controller.signal })
  await new Promise((resolve) => process.nextTick(resolve))
  controller.abort()
  expect((await running).error).toMatchObject({ reason: 'cut-short' })
  await runCall(adapter, settings)
  expect(calls()).toBe(2)
  expect(connections).toHaveLength(2)
})
