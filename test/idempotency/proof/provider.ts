import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { seeded } from './random.js'

/** A provider that counts how often each call reached it. Its answer depends only on the call's number. */
export interface CountingProvider {
  readonly baseUrl: string
  readonly asked: ReadonlyMap<number, number>
  close(): Promise<void>
}

const SLOWEST_MS = 20

/** The provider's answer to a call, word by word. */
export function wordsOf(call: number): readonly string[] {
  const random = seeded(call)
  return Array.from({ length: 3 + Math.floor(random() * 15) }, (_, word) => `${call}.${word} ünï 日本 `)
}

export function usageOf(call: number) {
  const [prompt, completion] = [10 + (call % 997), 1 + (call % 89)]
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

export async function startProvider(): Promise<CountingProvider> {
  const asked = new Map<number, number>()
  const server = createServer((request, response) => {
    json(request)
      .then((body) => {
        const { messages, stream } = body as { messages: { content: string }[]; stream?: boolean }
        const call = Number(messages[0]!.content.slice('call '.length))
        asked.set(call, (asked.get(call) ?? 0) + 1)
        return stream === true ? answerStream(call, response) : answerJson(call, response)
      })
      .catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answerJson(call: number, response: ServerResponse): Promise<void> {
  await delay(seeded(call)() * SLOWEST_MS)
  response.setHeader('content-type', 'application/json')
  response.end(
    JSON.stringify({
      ...head(call, 'chat.completion'),
      choices: [
        { index: 0, message: { role: 'assistant', content: wordsOf(call).join('') }, finish_reason: 'stop' },
      ],
      usage: usageOf(call),
    }),
  )
}

async function answerStream(call: number, response: ServerResponse): Promise<void> {
  const random = seeded(call + 1)
  const send = (fields: object): void => {
    const chunk = { ...head(call, 'chat.completion.chunk'), ...fields }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  response.setHeader('content-type', 'text/event-stream')
  for (const content of wordsOf(call)) {
    send({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
    if (random() < 0.5) await delay(random() * SLOWEST_MS)
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  send({ choices: [], usage: usageOf(call) })
  response.end('data: [DONE]\n\n')
}

function head(call: number, object: string): object {
  return { id: `upstream-${call}`, object, created: 1_700_000_000, model: 'upstream-model' }
}
