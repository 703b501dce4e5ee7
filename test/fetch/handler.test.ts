import { afterEach, describe, expect, it } from 'vitest'
import { CompatError } from '../../src/base/errors.js'
import { type CompatHandler, type HandlerInfo, routeHandlers } from '../../src/handler.js'
import { entryOf } from '../helpers/charge-assertions.js'
import { nanos } from '../helpers/decimals.js'
import { createDeferred } from '../helpers/deferred.js'
import type { FetchHost } from '../helpers/fetch-hosts.js'
import { MOUNT } from '../helpers/listen-http.js'
import { isLong } from '../helpers/long.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type ScriptedReply,
  sse,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { turns } from '../helpers/stepped-clock.js'
import {
  API_KEY,
  ask,
  BASE_COST,
  providerReply,
  type ServiceOptions,
  usageChunk,
  WireService,
} from '../wire/service.js'

const ORIGIN = 'https://host.example'
const MEBIBYTE = 1_024 * 1_024

let service: WireService
let handler: CompatHandler

/** Hands the handler to the test. */
const inProcess: FetchHost = {
  name: 'in process',
  protocol: 'http1',
  basePath: MOUNT,
  takes: 'requests',
  async mount(made) {
    handler = made
    const request = () => Promise.reject(new Error('There is no server.'))
    return { baseUrl: ORIGIN + MOUNT, port: 0, request, close: async () => undefined }
  },
}

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start({ host: inProcess, onDisconnect: 'abort', ...options })
}

afterEach(() => service.close())

interface Asked extends Omit<RequestInit, 'body'> {
  id?: string
  path?: string
  body?: object | string | ReadableStream
}

function request({
  id = 'r',
  path = '/chat/completions',
  body = ask(),
  headers,
  ...init
}: Asked = {}): Request {
  const isPlain = typeof body === 'object' && !(body instanceof ReadableStream)
  return new Request(ORIGIN + MOUNT + path, {
    method: 'POST',
    body: isPlain ? JSON.stringify(body) : body,
    headers: {
      authorization: `Bearer ${API_KEY}`,
      'content-type': 'application/json',
      'x-request-id': id,
      ...(headers as Record<string, string>),
    },
    ...(body instanceof ReadableStream && { duplex: 'half' }),
    ...init,
  })
}

const call = (asked?: Asked, info: HandlerInfo & { outside?: undefined } = {}) =>
  handler(request(asked), info)
/** The charge of a call that has ended. */
async function costOf(id: string): Promise<bigint | undefined> {
  await service.event('request-end', id)
  return (await entryOf(service.ledger, id))?.charge?.cost
}

const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code

/** Lets the provider write when the test says so. */
function scripted(): Promise<ScriptedReply> {
  return new Promise((resolve) => {
    service.upstream.scriptOnce(async (reply) => {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(sse([textChunk('The provider is still writing')]))
      resolve(reply)
    })
  })
}

describe('a client that leaves', () => {
  it('by cancelling the body ends the call at its provider, and pays for what came', async () => {
    await start()
    const provider = scripted()
    const response = await call({ body: ask({ stream: true }) })
    const reader = response.body!.getReader()
    const reply = await provider
    await reader.read()
    await reader.cancel()
    await reply.closed
    const end = await service.event('request-end', 'r')
    expect(end).toMatchObject({ outcome: 'client-left', charge: { basis: 'estimated' } })
    expect(await costOf('r')).toBeGreaterThan(0n)
  })

  it('before the reply begins is noticed by the signal', async () => {
    await start()
    const asked = service.upstream.nextRequest()
    const leaving = new AbortController()
    const answer = call({ signal: leaving.signal })
    const { closed } = await asked
    await turns(2)
    leaving.abort()
    await closed
    expect((await answer).status).toBe(499)
    expect(await service.event('request-end', 'r')).toMatchObject({ outcome: 'client-left' })
  })

  it('before it is asked has no call', async () => {
    await start()
    expect((await call({ signal: AbortSignal.abort() })).status).toBe(499)
    expect(service.asked).toEqual([])
  })

  it('while it sends a body is no fault of the body', async () => {
    await start()
    const leaving = new AbortController()
    const body = new ReadableStream({
      pull(controller) {
        leaving.abort()
        controller.error(new Error('gone'))
      },
    })
    expect((await call({ body, signal: leaving.signal })).status).toBe(499)
    expect(await service.event('request-end', 'r')).toMatchObject({ outcome: 'client-left' })
  })
})

describe('a signal', () => {
  it.each([10, 20_000])(
    'that a host aborts when the body has been read means nothing (%i bytes)',
    async (length) => {
      await start()
      service.upstream.scriptOnce(answerJson(providerReply()))
      const read = new AbortController()
      const bytes = Buffer.from(JSON.stringify(ask({ user: 'u'.repeat(length) })))
      let sent = false
      const body = new ReadableStream({
        pull(controller) {
          if (!sent) controller.enqueue(new Uint8Array(bytes))
          else {
            controller.close()
            process.nextTick(() => read.abort())
          }
          sent = true
        },
      })
      const headers = { 'content-length': String(bytes.length) }
      const response = await call({ body, headers, signal: read.signal })
      expect(response.status).toBe(200)
      expect(await costOf('r')).toBe(nanos(BASE_COST))
    },
  )

  it('that a host aborts after the head means nothing', async () => {
    await start()
    const after = new AbortController()
    const provider = scripted()
    const response = await call({ body: ask({ stream: true }), signal: after.signal })
    after.abort()
    const reply = await provider
    await reply.write(sse([finishChunk(), usageChunk(), '[DONE]']))
    reply.end()
    expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/)
    expect(await service.event('request-end', 'r')).toMatchObject({ outcome: 'completed' })
  })

  it('is not asked if the host says so', async () => {
    await start()
    service.upstream.scriptOnce(answerJson(providerReply()))
    expect((await call({ signal: AbortSignal.abort() }, { signal: false })).status).toBe(200)
  })
})

it('holds the provider back while nobody reads', async () => {
  await start({ sizes: { replyBytes: 200 * MEBIBYTE } })
  const piece = sse(Array.from({ length: 64 }, () => textChunk('x'.repeat(10_000))))
  let sent = 0
  service.upstream.scriptOnce(async (reply) => {
    reply.head(200, { 'content-type': 'text/event-stream' })
    for (; sent < 48 * MEBIBYTE && reply.open; sent += piece.length) await reply.write(piece)
    await reply.write(sse([finishChunk(), usageChunk(), '[DONE]']))
    reply.end()
  })
  const response = await call({ body: ask({ stream: true }) })
  for (let before = -1; sent === 0 || before !== sent; ) {
    before = sent
    await turns(1_000)
  }
  expect(sent).toBeLessThan(16 * MEBIBYTE)
  let received = 0
  let end = ''
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    received += bytes.length
    end = (end + Buffer.from(bytes).toString('latin1')).slice(-100)
  }
  expect(received).toBeGreaterThan(45 * MEBIBYTE)
  expect(end).toMatch(/data: \[DONE\]\n\n$/)
}, 60_000)

describe('a long whole reply', () => {
  const message = { role: 'assistant', content: 'x'.repeat(MEBIBYTE) }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]

  it('whose client accepts nothing for clientStallMs is broken off', async () => {
    await start()
    service.upstream.scriptOnce(answerJson(providerReply({ choices })))
    const response = await call()
    await costOf('r')
    await service.clock.elapse(60_000)
    await expect(response.text()).rejects.toThrow('broken off')
  })

  it('reaches a client that reads slowly but steadily', async () => {
    await start()
    service.upstream.scriptOnce(answerJson(providerReply({ choices })))
    const reader = (await call()).body!.getReader()
    let received = 0
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      received += next.value.length
      await turns(3)
      await service.clock.elapse(50_000)
    }
    expect(received).toBeGreaterThan(MEBIBYTE)
  })
})

it('answers 500 and reports a fault if a header of a reply can be none', async () => {
  const headers = { 'x-reason': 'Schlüssel für 5 €' }
  const admit = () => {
    throw new CompatError('rate_limited', 'Later.', { headers })
  }
  await start({ router: () => ({ admit }), expectsFaults: true })
  const kept: Promise<void>[] = []
  const response = await call({}, { waitUntil: (promise) => void kept.push(promise) })
  expect([response.status, await response.text()]).toEqual([500, ''])
  await kept[0]
  const faults = service.events.filter(({ type }) => type === 'fault')
  expect(faults).toMatchObject([{ where: 'http reply' }])
  expect(await service.event('request-end', 'r')).toMatchObject({ outcome: 'client-left' })
})

describe('waitUntil', () => {
  it.each(['reads to the end', 'leaves'])(
    'settles when the call of a client that %s is charged',
    async (what) => {
      await start()
      const provider = scripted()
      const kept: Promise<void>[] = []
      const response = await call(
        { body: ask({ stream: true }) },
        { waitUntil: (promise) => void kept.push(promise) },
      )
      const reply = await provider
      expect(kept).toHaveLength(1)
      let isSettled = false
      void kept[0]!.then(() => {
        isSettled = true
      })
      await turns(10)
      expect(isSettled).toBe(false)
      if (what === 'leaves') await response.body!.cancel()
      else {
        await reply.write(sse([finishChunk(), usageChunk(), '[DONE]']))
        reply.end()
        await response.text()
      }
      await kept[0]
      expect(service.router.openHolds).toBe(0)
      expect(await costOf('r')).toBeGreaterThan(0n)
    },
  )

  it('settles for a path that does not exist', async () => {
    await start()
    const kept: Promise<void>[] = []
    await call({ path: '/nothing' }, { waitUntil: (promise) => void kept.push(promise) })
    await kept[0]
  })
})

describe('a body', () => {
  it('that is too long is refused, and its rest is discarded up to a limit', async () => {
    await start({ sizes: { bodyBytes: 100_000 } })
    let pulled = 0
    const cancelled = createDeferred()
    const body = new ReadableStream({
      pull(controller) {
        pulled += 10_000
        controller.enqueue(new Uint8Array(10_000).fill(32))
      },
      cancel: () => cancelled.resolve(),
    })
    const response = await call({ body })
    expect([response.status, await codeOf(response)]).toEqual([413, 'request_too_large'])
    await cancelled.promise
    expect(pulled).toBeLessThan(250_000)
  })

  it('of a refused call is read to its end if it is short', async () => {
    await start()
    let isRead = false
    const body = new ReadableStream({
      pull(controller) {
        if (isRead) controller.close()
        else controller.enqueue(new Uint8Array(100))
        isRead = true
      },
    })
    const asked = request({ body, headers: { authorization: 'Bearer sk-wrong' } })
    expect((await handler(asked)).status).toBe(401)
    await turns(3)
    expect([isRead, asked.bodyUsed]).toEqual([true, true])
  })

  it('that its host breaks off is too large', async () => {
    await start()
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('limit')) })
    const response = await call({ body })
    expect([response.status, await codeOf(response)]).toEqual([413, 'request_too_large'])
  })

  it.each([false, true])(
    'that the host has read and kept nothing of is reported (locked: %s)',
    async (locked) => {
      await start()
      const asked = request()
      if (locked) asked.body!.getReader()
      else await asked.text()
      expect((await handler(asked)).status).toBe(500)
      expect(await service.event('body-consumed')).toMatchObject({
        hint: expect.stringContaining('c.req.json()'),
      })
    },
  )

  it('that is short may pause longer than bodyIdleMs, and is refused after bodyMs', async () => {
    await start({ timeouts: { bodyIdleMs: 1_000, bodyMs: 10_000 } })
    service.upstream.scriptOnce(answerJson(providerReply()))
    const bytes = Buffer.from(JSON.stringify(ask()))
    let controller!: ReadableStreamDefaultController
    const body = new ReadableStream({
      start(made) {
        controller = made
      },
    })
    const headers = { 'content-length': String(bytes.length) }
    const answered = call({ body, headers })
    for (let at = 0; at < bytes.length; at += 20) {
      controller.enqueue(bytes.subarray(at, at + 20))
      await turns(3)
      await service.clock.elapse(900)
    }
    controller.close()
    expect((await answered).status).toBe(200)
    const silent = call({ body: new ReadableStream(), headers })
    await turns(3)
    await service.clock.elapse(10_000)
    const refused = await silent
    expect([refused.status, await codeOf(refused)]).toEqual([408, 'request_timeout'])
  })

  it.each<[string, unknown]>([
    ['its parsed JSON', ask()],
    ['its text', JSON.stringify(ask())],
    ['its bytes', Buffer.from(JSON.stringify(ask()))],
  ])('that the host has read is taken from it: %s', async (_what, body) => {
    await start()
    service.upstream.scriptOnce(answerJson(providerReply()))
    const asked = request()
    await asked.text()
    expect((await handler(asked, { body })).status).toBe(200)
    expect(await costOf('r')).toBe(nanos(BASE_COST))
  })
})

it('refuses two authorization headers, which the host has joined', async () => {
  await start()
  const asked = request()
  asked.headers.append('authorization', 'Bearer sk-other')
  const response = await handler(asked)
  expect([response.status, await codeOf(response)]).toEqual([401, 'invalid_api_key'])
})

describe('a path outside of the mount', () => {
  it('is a 404, or left to the host', async () => {
    await start()
    const outside = () => new Request(`${ORIGIN}/other`)
    expect((await handler(outside())).status).toBe(404)
    expect(await handler(outside(), { outside: 'pass' })).toBeUndefined()
    expect((await handler(new Request(`${ORIGIN + MOUNT}/other`), { outside: 'pass' }))?.status).toBe(404)
  })
})

it('says what it takes if it is given something else', async () => {
  await start({ expectsFaults: true })
  const odd = { url: '/compat/v1/models', headers: {}, method: 'GET' } as unknown as Request
  await expect(handler(odd)).rejects.toThrow(/takes a web Request: c\.req\.raw in Hono/)
})

it('has a function for each method, for frameworks that ask for them by name', async () => {
  await start()
  const { DELETE, GET, POST } = routeHandlers(handler)
  service.upstream.scriptOnce(answerJson(providerReply()))
  expect((await POST(request())).status).toBe(200)
  const headers = { authorization: `Bearer ${API_KEY}` }
  expect((await GET(new Request(`${ORIGIN + MOUNT}/models`, { headers }))).status).toBe(200)
  expect((await DELETE(new Request(`${ORIGIN + MOUNT}/models`, { method: 'DELETE' }))).status).toBe(405)
})

const STREAMS = isLong ? 1_000 : 200
it(`leaves no hold, connection or timer behind ${STREAMS} streams whose clients leave at random`, async () => {
  await start()
  let seed = 20_261_129
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  const stream = answerEvents([
    ...Array.from({ length: 30 }, (_, index) => textChunk(`word ${index} `)),
    finishChunk(),
    usageChunk(),
  ])
  service.upstream.script(stream)
  await (await call({ id: 'first', body: ask({ stream: true }) })).text()
  await service.event('request-end', 'first')
  const before = service.clock.pending

  const one = async (index: number): Promise<void> => {
    const leaving = new AbortController()
    const id = `s${index}`
    const reads = random(40)
    const answering = call({ id, body: ask({ stream: true }), signal: leaving.signal })
    if (reads < 10) {
      await turns(reads)
      leaving.abort()
    }
    const reader = (await answering).body?.getReader()
    for (let read = 10; read < reads; read++) if ((await reader?.read())?.done !== false) break
    if (reads < 38) await reader?.cancel()
    else while ((await reader?.read())?.done === false);
  }
  for (let from = 0; from < STREAMS; from += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => one(from + index)))
  }
  while (service.router.inFlight > 0 || service.router.openHolds > 0) await turns(1)
  expect(await service.held('alice')).toBe(0n)
  expect(service.clock.pending).toBeLessThanOrEqual(before)
  const ends = service.events.filter(({ type }) => type === 'request-end')
  expect(ends).toHaveLength(STREAMS + 1)
  for (const end of ends) {
    if (!('requestId' in end) || !('charge' in end)) continue
    expect((await costOf(end.requestId!)) ?? 0n).toBe(end.charge?.cost ?? 0n)
  }
  const asked = service.asked.length
  expect(asked).toBeGreaterThan(STREAMS / 2)
  await Promise.all(Array.from({ length: 20 }, () => turns(5)))
  // Those that are kept for the next calls.
  expect(service.upstream.openConnections).toBeLessThanOrEqual(50)
})
