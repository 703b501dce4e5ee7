import { once } from 'node:events'
import { type IncomingMessage, request as openRequest } from 'node:http'
import type { Script } from '../helpers/scripted-upstream.js'
import type { Place } from './suite.js'
import type { Handle } from './watched.js'

const HEADERS = { authorization: 'Bearer sk-demo', 'content-type': 'application/json' }
export const EVENT_STREAM = { 'content-type': 'text/event-stream' }

export const event = (fields: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...fields })}\n\n`
/** A piece of a reply, which the counter of the application takes for one token. */
export const PIECE = event({ choices: [{ index: 0, delta: { content: '#' }, finish_reason: null }] })

export interface Call {
  readonly id: string
  readonly stream?: boolean
  /** The client leaves when it has got so many pieces. It stays by default. */
  readonly leavesAfter?: number
  /** The client leaves after this time, although nothing has come. */
  readonly leavesAfterMs?: number
}

export interface Got {
  readonly status: number | undefined
  readonly text: string
}

/** Makes a call, and returns what its client has got when it left or when the reply ended. */
export async function call({ baseUrl }: Place, asked: Call): Promise<Got> {
  const { id, stream = true, leavesAfter = Infinity, leavesAfterMs } = asked
  const request = openRequest(`${baseUrl}/chat/completions`, {
    agent: false,
    method: 'POST',
    headers: { ...HEADERS, 'x-request-id': id },
  })
  let text = ''
  let status: number | undefined
  const ended = new Promise<void>((resolve) => {
    request.on('error', () => resolve())
    request.on('close', () => resolve())
    request.on('response', (response: IncomingMessage) => {
      status = response.statusCode
      response.on('error', () => resolve())
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        if (marksIn(text) >= leavesAfter) request.destroy()
      })
    })
  })
  request.end(
    JSON.stringify({ model: 'acme/fast', stream, messages: [{ role: 'user', content: id.padEnd(16, '.') }] }),
  )
  if (leavesAfterMs !== undefined) {
    await once(request, 'finish')
    await new Promise((resolve) => setTimeout(resolve, leavesAfterMs))
    request.destroy()
  }
  await ended
  return { status, text }
}

export const marksIn = (text: string): number => text.split('#').length - 1

/** The id that a call has put into its prompt. */
export function idIn(body: unknown): string {
  const { messages } = body as { messages: [{ content: string }] }
  return messages[0].content.replace(/\.+$/, '')
}

export async function handleOf({ baseUrl }: Place): Promise<Handle> {
  return (await (await fetch(new URL('/handle', baseUrl))).json()) as Handle
}

export async function creditsOf({ baseUrl }: Place): Promise<{ held: number; spent: number }> {
  const { data } = (await (await fetch(`${baseUrl}/credits`, { headers: HEADERS })).json()) as {
    data: { held: string; spent: string }
  }
  return { held: Number(data.held), spent: Number(data.spent) }
}

/** Writes pieces until nobody reads them any more. */
export const untilClosed: Script = async (reply) => {
  reply.head(200, EVENT_STREAM)
  while (reply.open) {
    await reply.write(PIECE)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
