import { afterEach, describe, expect, it } from 'vitest'
import { isLong } from '../helpers/long.js'
import { answerEvents, answerJson, finishChunk } from '../helpers/scripted-upstream.js'
import { proveMemory, SHORT } from './memory/proof.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  ask,
  MODEL,
  providerReply,
  type ServiceOptions,
  tokens,
  usageChunk,
  WireService,
} from './service.js'

type Json = Record<string, unknown>

let service: WireService
afterEach(() => service.close())

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start(options)
  service.upstream.script(answerJson(providerReply()))
}

async function codeOf(response: { status: number; json(): Promise<unknown> }): Promise<unknown> {
  const { error } = (await response.json()) as { error: Json }
  return [response.status, error.code]
}

/** Has the provider answer its next request when the function that this returns is called. */
function answerLater(): () => void {
  let goOn = (): void => {}
  const wait = new Promise<void>((resolve) => {
    goOn = resolve
  })
  service.upstream.scriptOnce([
    { wait },
    { head: 200, headers: { 'content-type': 'application/json' } },
    { write: JSON.stringify(providerReply()) },
    'end',
  ])
  return goOn
}

function respond(body: object, token: string = API_KEY) {
  return service.host.request('/responses', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, ...body }),
  })
}

describe("a new call, with the router's memory limit,", () => {
  it('is refused with 503 while requests fill the memory, and admitted once a route has read them', async () => {
    await start({ sizes: { memoryBytes: 100_000 } })
    const goOn = answerLater()
    const asked = service.upstream.nextRequest()
    const large = service.post(ask({ user: 'x'.repeat(35_000) }))
    await asked
    expect(await codeOf(await service.post(ask()))).toEqual([503, 'memory_full'])
    goOn()
    expect((await large).status).toBe(200)
    await (await large).text()
    const after = await service.post(ask())
    expect(after.status).toBe(200)
    await after.text()
  })

  it('is refused with 429 if its account fills a quarter of the memory, but nobody else is', async () => {
    await start({ sizes: { memoryBytes: 400_000 } })
    const goOn = answerLater()
    const asked = service.upstream.nextRequest()
    const first = service.post(ask({ user: 'x'.repeat(30_000) }))
    await asked
    expect(await codeOf(await service.post(ask({ user: 'x'.repeat(30_000) })))).toEqual([429, 'rate_limited'])
    const other = await service.post(ask({ user: 'x'.repeat(30_000) }), {
      authorization: `Bearer ${ACCESS_TOKEN}`,
    })
    expect(other.status).toBe(200)
    await other.text()
    goOn()
    await (await first).text()
  })
})

/** Returns the length of the longest text that is parsed while a function runs. */
async function longestParsed(run: () => Promise<void>): Promise<number> {
  const { parse } = JSON
  let longest = 0
  JSON.parse = (text: string, ...more: []) => {
    longest = Math.max(longest, text.length)
    return parse(text, ...more)
  }
  try {
    await run()
  } finally {
    JSON.parse = parse
  }
  return longest
}

describe('a long request without room for it', () => {
  it('is refused before it is parsed', async () => {
    await start({ sizes: { memoryBytes: 1_000_000 } })
    const goOn = answerLater()
    const asked = service.upstream.nextRequest()
    const body = ask({ user: 'x'.repeat(200_000) })
    const first = service.post(body)
    await asked
    const longest = await longestParsed(async () => {
      expect(await codeOf(await service.post(body))).toEqual([429, 'rate_limited'])
    })
    expect(longest).toBeLessThan(200_000)
    goOn()
    await (await first).text()
  })
})

describe('log probabilities of a streamed response', () => {
  const probability = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }
  const delta = { index: 0, delta: { content: 'a' }, logprobs: { content: [probability] } }
  const events = (count: number) => [
    ...Array.from({ length: count }, () => ({ choices: [delta] })),
    finishChunk(),
    usageChunk(),
  ]

  const repeats = async (count: number) => {
    service.upstream.script(answerEvents(events(count)))
    const response = await respond({ input: 'Hi', stream: true, top_logprobs: 1 })
    const { deltas, last } = read(await response.text())
    return { deltas, last }
  }

  function read(stream: string): { deltas: number; last: unknown[] } {
    const parsed = stream
      .split('\n\n')
      .filter((frame) => frame !== '')
      .map((frame) => JSON.parse(frame.slice(frame.indexOf('\ndata: ') + 7)) as Json)
    const found = JSON.stringify(parsed.filter(({ type }) => type === 'response.output_text.delta'))
    const isLast = (type: unknown) => /done$|completed$/.test(String(type))
    return {
      deltas: found.split('"logprob":').length - 1,
      last: parsed
        .filter(({ type }) => isLast(type))
        .map((event) => JSON.stringify(event).split('"logprob":').length - 1),
    }
  }

  it('are repeated in its last events up to a bound, and omitted beyond it', async () => {
    await start({ sizes: { memoryBytes: 1_000_000 } })
    expect(await repeats(50)).toEqual({ deltas: 50, last: [50, 50, 50, 50] })
    const before = await service.posted('alice')
    expect(await repeats(500)).toEqual({ deltas: 500, last: [0, 0, 0, 0] })
    expect(before - (await service.posted('alice'))).toBe(174_000n)
  })
})

describe('a request that names earlier items', () => {
  async function keep(text: string, token?: string): Promise<unknown> {
    const choices = [{ index: 0, message: { content: text }, finish_reason: 'stop' }]
    service.upstream.scriptOnce(answerJson(providerReply({ choices })))
    const response = await respond({ input: 'Hi' }, token)
    const { output } = (await response.json()) as { output: Json[] }
    return output[0]!.id
  }
  const naming = (id: unknown) => ({
    input: [
      { role: 'user', content: 'Hi' },
      { type: 'item_reference', id },
      { role: 'user', content: 'Go on' },
    ],
  })

  it('is refused for lack of credit before they are read', async () => {
    await start({
      models: [{ id: MODEL, prices: { input: '100000', output: '8' } }],
    })
    const id = await keep('x'.repeat(100_000))
    const longest = await longestParsed(async () => {
      expect(await codeOf(await respond(naming(id)))).toEqual([402, 'insufficient_credits'])
    })
    // The items are only bytes until there is credit.
    expect(longest).toBeLessThan(100_000)
  })

  it('counts them as its body', async () => {
    await start({ sizes: { memoryBytes: 1_000_000 } })
    const id = await keep('x'.repeat(80_000))
    const goOn = answerLater()
    const asked = service.upstream.nextRequest()
    const first = respond(naming(id))
    await asked
    expect(await codeOf(await respond(naming(id)))).toEqual([429, 'rate_limited'])
    goOn()
    expect((await first).status).toBe(200)
    await (await first).text()
    expect(await codeOf(await respond({ input: 'Hi' }, tokens.poor))).toEqual([402, 'insufficient_credits'])
  })
})

describe('twenty concurrent calls', () => {
  it('of each kind that takes much memory stay within the limit', { timeout: 600_000 }, async () => {
    await start()
    // Bodies with log probabilities grow most when they are parsed.
    const kinds = isLong ? '' : 'log probabilities, in one body'
    const measured = await proveMemory(SHORT, () => {}, kinds)
    expect(measured.length).toBeGreaterThan(1)
    expect(measured.filter(({ aliveBytes }) => aliveBytes > SHORT.memoryBytes)).toEqual([])
    expect(measured.every(({ answered, refused }) => answered + refused === 20 && answered > 0)).toBe(true)
  })
})
