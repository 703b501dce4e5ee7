import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { ScriptedUpstream } from '../helpers/scripted-upstream.js'

/** An application with the router in it. */
export interface Place {
  /** With the mount path. */
  readonly baseUrl: string
  readonly upstream: ScriptedUpstream
}

/** Two tokens in and three out, at 1 and 2 credits a token, as the options of every application say. */
const USAGE = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 }
const COST = 8
const EVENT_STREAM = { 'content-type': 'text/event-stream' }
const JSON_TYPE = { 'content-type': 'application/json' }
const HEADERS = { authorization: 'Bearer sk-demo', ...JSON_TYPE }
const LARGE_BYTES = 3_000_000

/** Checks that any server must pass. */
export const CHARGE = 'charges a call, and the ledger has what the reply says'
export const STREAM = 'passes each piece of a stream on as it comes, and charges it'
/** A check that takes a host which tells that a client has left although nothing is being written. */
export const LEAVE = 'charges a client that leaves during a stream, and ends the call of the provider'
/** A check that takes a host which reads a reply no faster than its client. */
export const BACK_PRESSURE = 'holds the provider back while a client does not read'
/** A check that takes a `request.signal` which tells whether the client has left. */
export const EARLY_LEAVE = 'notices a client that leaves before the reply'
/** Checks that a framework's own parser of bodies prevents. */
export const LARGE_BODY = 'takes a body of 3 MB'
export const REFUSALS = 'refuses bad JSON, and a wrong key, in the words of the API'

/** A check that a framework's own answers to preflights prevent. */
export const PREFLIGHT = 'answers a preflight'
const MODELS = 'lists models, and finds one by an id with a slash'
const METHODS = 'answers HEAD, 404 and 405'
const OUTSIDE = 'leaves the paths outside to the framework'

/** The checks in the order of the documents' table, with the heads of its columns. */
export const COLUMNS: Readonly<Record<string, string>> = {
  [CHARGE]: 'charge',
  [STREAM]: 'stream',
  [LEAVE]: 'leaves',
  [EARLY_LEAVE]: 'leaves early',
  [BACK_PRESSURE]: 'slow client',
  [LARGE_BODY]: '3 MB',
  [REFUSALS]: 'refusals',
  [MODELS]: 'models',
  [METHODS]: 'methods',
  [PREFLIGHT]: 'preflight',
  [OUTSIDE]: 'outside',
}

interface Sent {
  readonly request: ClientRequest
  readonly response: Promise<IncomingMessage>
}

function send(
  place: Place,
  method: string,
  path: string,
  body?: object | string,
  headers: object = HEADERS,
): Sent {
  const request = openRequest(place.baseUrl + path, { agent: false, method, headers: { ...headers } })
  request.on('error', () => undefined)
  request.end(typeof body === 'object' ? JSON.stringify(body) : body)
  const response = once(request, 'response').then(([got]) => got as IncomingMessage)
  response.catch(() => undefined)
  return { request, response }
}

async function get(place: Place, path: string) {
  const response = await send(place, 'GET', path).response
  return { status: response.statusCode, headers: response.headers, body: (await json(response)) as Body }
}

async function post(place: Place, body: object | string) {
  const response = await send(place, 'POST', '/chat/completions', body).response
  return { status: response.statusCode, body: (await json(response)) as Body }
}

interface Body {
  readonly data?: { readonly id: string }[] & { readonly spent: string; readonly held: string }
  readonly error?: { readonly code: string; readonly message: string }
  readonly usage?: { readonly cost: number }
  readonly choices?: readonly { readonly message: { readonly content: string } }[]
}

const chat = (content: string, more: object = {}) => ({
  model: 'acme/fast',
  messages: [{ role: 'user', content }],
  ...more,
})

const event = (fields: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...fields })}\n\n`
const words = (content: string) => event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
const ENDING = `${event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`

function answerOnce(upstream: ScriptedUpstream): void {
  const message = { role: 'assistant', content: 'Hello!' }
  const completion = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: USAGE,
  }
  upstream.scriptOnce([{ head: 200, headers: JSON_TYPE }, { write: JSON.stringify(completion) }, 'end'])
}

/** What was spent so far. Waits until nothing is on hold. */
async function spent(place: Place): Promise<number> {
  const credits = async () => (await get(place, '/credits')).body.data!
  await expect.poll(async () => (await credits()).held).toBe('0')
  return Number((await credits()).spent)
}

/** Reads until the text has arrived, and returns all of it. */
async function readUntil(response: IncomingMessage, wanted: string): Promise<string> {
  let got = ''
  response.setEncoding('utf8')
  while (!got.includes(wanted)) {
    const piece = response.read() as string | null
    if (piece !== null) got += piece
    else if (response.readableEnded) throw new Error(`The stream ended without ${wanted}: ${got}`)
    else await Promise.race([once(response, 'readable'), once(response, 'end')])
  }
  return got
}

/** What an application must do, whatever its framework. */
export const CHECKS: Readonly<Record<string, (place: Place) => Promise<void>>> = {
  async [CHARGE](place) {
    const before = await spent(place)
    answerOnce(place.upstream)
    const { status, body } = await post(place, chat('Hi'))
    expect([status, body.usage?.cost, body.choices?.[0]?.message.content]).toEqual([200, COST, 'Hello!'])
    expect(await spent(place)).toBe(before + COST)
  },

  async [STREAM](place) {
    const before = await spent(place)
    let goOn!: () => void
    const seen = new Promise<void>((resolve) => {
      goOn = resolve
    })
    place.upstream.scriptOnce([
      { head: 200, headers: EVENT_STREAM },
      { write: words('first') },
      { wait: seen },
      { write: words('second') + ENDING },
      'end',
    ])
    const response = await send(place, 'POST', '/chat/completions', chat('Hi', { stream: true })).response
    expect(response.headers['content-type']).toContain('text/event-stream')
    await readUntil(response, 'first')
    goOn()
    const rest = await readUntil(response, '[DONE]')
    expect(rest).toContain('second')
    expect(rest).toContain(`"cost":${COST}`)
    expect(await spent(place)).toBe(before + COST)
  },

  async [LEAVE](place) {
    const before = await spent(place)
    const asked = place.upstream.nextRequest()
    place.upstream.scriptOnce([{ head: 200, headers: EVENT_STREAM }, { write: words('first') }, 'stall'])
    const { request, response } = send(place, 'POST', '/chat/completions', chat('Hi', { stream: true }))
    await readUntil(await response, 'first')
    request.destroy()
    await (await asked).closed
    expect(await spent(place)).toBeGreaterThan(before)
  },

  async [EARLY_LEAVE](place) {
    const asked = place.upstream.nextRequest()
    place.upstream.scriptOnce(['stall'])
    const { request } = send(place, 'POST', '/chat/completions', chat('Hi'))
    const { closed } = await asked
    request.destroy()
    await closed
    await spent(place)
  },

  async [BACK_PRESSURE](place) {
    const before = await spent(place)
    const piece = words('x'.repeat(60_000))
    const pieces = 1_000
    let written = 0
    place.upstream.scriptOnce(async (reply) => {
      reply.head(200, EVENT_STREAM)
      for (; written < pieces && reply.open; written++) await reply.write(piece)
      if (reply.open) await reply.write(ENDING)
      reply.end()
    })
    const { response } = send(place, 'POST', '/chat/completions', chat('Hi', { stream: true }))
    const reader = await response
    let last = -1
    const stops = async () => {
      const isStopped = written > 0 && written === last
      last = written
      return isStopped
    }
    await expect.poll(stops, { interval: 500 }).toBe(true)
    expect(written).toBeLessThan(pieces)
    expect((await text(reader)).endsWith('[DONE]\n\n')).toBe(true)
    expect(await spent(place)).toBe(before + COST)
  },

  async [LARGE_BODY](place) {
    answerOnce(place.upstream)
    const asked = place.upstream.nextRequest()
    const { status } = await post(place, chat('é'.repeat(LARGE_BYTES / 2)))
    expect(status).toBe(200)
    expect((await asked).text.length).toBeGreaterThan(LARGE_BYTES / 2)
  },

  async [REFUSALS](place) {
    const bad = await post(place, '{ "model": ')
    expect([bad.status, bad.body.error?.code]).toEqual([400, 'invalid_json'])
    const wrong = await send(place, 'GET', '/models', undefined, { authorization: 'Bearer sk-wrong' })
      .response
    expect([wrong.statusCode, ((await json(wrong)) as Body).error?.code]).toEqual([401, 'invalid_api_key'])
  },

  async [MODELS](place) {
    const { body, headers } = await get(place, '/models')
    expect(body.data?.map(({ id }) => id)).toEqual(['acme/fast'])
    expect(headers['x-request-id']).toBeTypeOf('string')
    for (const id of ['acme/fast', 'acme%2Ffast'])
      expect((await get(place, `/models/${id}`)).body).toMatchObject({ id: 'acme/fast' })
  },

  async [METHODS](place) {
    const head = await send(place, 'HEAD', '/models').response
    expect([head.statusCode, await text(head)]).toEqual([200, ''])
    const missing = await get(place, '/nothing')
    expect([missing.status, missing.body.error?.code]).toEqual([404, 'not_found'])
    const wrong = await get(place, '/chat/completions')
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'POST, OPTIONS'])
  },

  async [PREFLIGHT](place) {
    const preflight = await send(place, 'OPTIONS', '/chat/completions', undefined, {
      origin: 'https://page.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type',
    }).response
    expect([preflight.statusCode, preflight.headers['access-control-allow-origin']]).toEqual([204, '*'])
  },

  async [OUTSIDE]({ baseUrl }) {
    const response = await fetch(new URL('/elsewhere', baseUrl))
    const body = await response.text()
    expect(body).not.toContain('"code":"not_found"')
  },
}
