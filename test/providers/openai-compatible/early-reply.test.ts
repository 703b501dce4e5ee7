import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openaiCompatible } from '../../../src/providers/openai-compatible/index.js'
import { runCall } from './run-call.js'

const BODY = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
})
const REPLY = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
/** More than the sockets on both sides accept. */
const LONG = 'x'.repeat(20_000_000)

/** Replies on each connection as soon as part of a request arrives, and reads no more of it. */
async function startHastyProvider() {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.pause()
      socket.write(REPLY)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const adapter = openaiCompatible({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await adapter.close?.()
  })
  return { adapter, sockets }
}

it('the OpenAI-compatible adapter sends nothing more of a request that its provider answered without reading it', async () => {
  const { adapter, sockets } = await startHastyProvider()
  const messages = [{ role: 'user', content: LONG }]
  for (const calls of [1, 2]) {
    const { events, error } = await runCall(adapter, {
      stream: false,
      request: { model: 'm', messages: calls === 1 ? messages : [{ role: 'user', content: 'Hi' }] },
    })
    expect(error).toBeUndefined()
    expect(events).toMatchObject([{ type: 'completion' }])
    expect(sockets).toHaveLength(calls)
    // Waits until the connection would be ready for the next call.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
})
