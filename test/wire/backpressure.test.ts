import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import net from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from '../../src/index.js'
import { listenHttp } from '../helpers/listen-http.js'
import {
  finishChunk,
  type Script,
  sse,
  startScriptedUpstream,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { turns } from '../helpers/stepped-clock.js'
import { API_KEY, ask, COUNTS, MODEL, PRICES, UPSTREAM_MODEL, usageChunk } from './service.js'

const MEBIBYTE = 1_024 * 1_024
const PIECE_EVENTS = 64
/** The most that a kernel buffers for a local socket that nobody reads: both ends of two connections. */
const KERNEL_BYTES = 24 * MEBIBYTE

/**
 * Reads nothing of a stream until the provider has been blocked for a long time, then looks at what the
 * process holds. It counts bytes, not time: the provider counts the bytes its socket accepted, the response
 * counts those the client's socket accepted.
 */
async function heldUp(pieceText: string, totalBytes: number, tls: boolean) {
  const upstream = await startScriptedUpstream({ tls })
  const piece = sse(Array.from({ length: PIECE_EVENTS }, () => textChunk(pieceText)))
  let sent = 0
  const script: Script = async (reply) => {
    reply.head(200, { 'content-type': 'text/event-stream' })
    while (sent < totalBytes && reply.open) {
      await reply.write(piece)
      sent += piece.length
    }
    await reply.write(sse([finishChunk(), usageChunk(COUNTS), '[DONE]']))
    reply.end()
  }
  upstream.script(script)
  const adapter = openaiCompatible({ baseUrl: upstream.baseUrl })
  let taken = 0
  const counting: ProviderAdapter = {
    chat: (call, take) =>
      adapter.chat(call, (events) => {
        for (const event of events) if (event.type === 'data') taken += event.bytes.length
        return take(events)
      }),
  }
  const router = createCompatRouter({
    basePath: '/v1',
    credentials: memoryCredentials({ [API_KEY]: { kind: 'api-key', account: 'alice' } }),
    catalogue: memoryCatalogue([{ id: MODEL, prices: PRICES }]),
    ledger: memoryLedger({ alice: '5' }),
    providers: memoryProviders([{ id: 'p0', models: { [MODEL]: UPSTREAM_MODEL }, adapter: counting }]),
    sizes: { replyBytes: 2 * totalBytes },
  })
  let response: ServerResponse | undefined
  const handler = (req: IncomingMessage, res: ServerResponse): void => {
    response = res
    router(req, res)
  }
  const host = await listenHttp(createServer(handler), '/v1')
  const body = JSON.stringify(ask({ stream: true }))
  const client = net.connect(host.port, '127.0.0.1')
  client.pause()
  client.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${API_KEY}\r\nconnection: close\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  while (response === undefined) await turns(1)
  const { socket } = response
  const heldByResponse = () => response!.writableLength + (socket?.writableLength ?? 0)
  let most = 0
  for (let before = -1; sent === 0 || before !== sent; ) {
    before = sent
    for (let turn = 0; turn < 2_000; turn++) {
      await turns(1)
      most = Math.max(most, heldByResponse())
    }
  }
  const stuck = { sent, most, taken }

  let received = 0
  let end = ''
  client.on('data', (bytes) => {
    received += bytes.length
    end = (end + bytes.toString('latin1')).slice(-2_000)
  })
  client.resume()
  await new Promise((resolve) => client.on('close', resolve))
  await host.close()
  await router.close()
  await adapter.close?.()
  await upstream.close()
  return { ...stuck, received, end }
}

afterEach(() => {
  vi.unstubAllEnvs()
})

test.each([
  ['short texts, which are spliced', 'word '.repeat(20), false],
  ['texts that are parsed one by one', '\u{1f600}é"\\\n'.repeat(10), false],
  ['long texts', 'x'.repeat(20_000), false],
  ['over TLS', 'x'.repeat(20_000), true],
])(
  'a client that does not read a long stream blocks its provider: %s',
  async (_what, text, tls) => {
    // Nobody trusts the certificate of the test's provider.
    if (tls) vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const total = 48 * MEBIBYTE
    const { end, most, received, sent, taken } = await heldUp(text, total, tls)
    // The difference contains all that the process read from the provider, and the kernel's buffers of both
    // connections.
    expect(sent).toBeLessThan(KERNEL_BYTES)
    // The router reads on only after the client accepted the last chunk, so it never holds more than a read
    // or two.
    expect(taken).toBeLessThan(KERNEL_BYTES / 2)
    expect(most).toBeLessThan(MEBIBYTE)
    expect(received).toBeGreaterThan(total / 2)
    expect(end).toMatch(/"usage":\{"prompt_tokens":11,.*\}\r?\n/s)
    expect(end).toMatch(/data: \[DONE\]/)
  },
  60_000,
)
