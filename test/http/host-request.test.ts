import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { deferred, testHandler } from './fixture.js'

test('on http2 a client that hangs up before its body is read is no body that another consumed', async () => {
  const entered = deferred()
  const left = deferred()
  const outcome = deferred<unknown>()
  const { handler, consumed } = testHandler({
    chatCompletions: async (call, writer) => {
      writer.onLeave(left.resolve)
      entered.resolve()
      await left.promise
      try {
        await call.readBody()
      } catch (error) {
        outcome.resolve(error)
      }
    },
  })
  const server = http2.createServer((req, res) =>
    handler(req as unknown as IncomingMessage, res as unknown as ServerResponse),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const stream = client.request({ ':method': 'POST', ':path': '/chat/completions' })
  stream.on('error', () => undefined)
  stream.write('{"a":')
  await entered.promise
  stream.close(http2.constants.NGHTTP2_CANCEL)
  expect(await outcome.promise).toMatchObject({ name: 'CompatError', code: 'invalid_request' })
  expect(consumed).toEqual([])
  client.close()
  server.close()
  await once(server, 'close')
})
