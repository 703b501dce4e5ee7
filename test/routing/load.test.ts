import { afterEach, describe, expect, it } from 'vitest'
import { isLong } from '../helpers/long.js'
import { type Script, sse, textChunk } from '../helpers/scripted-upstream.js'
import { createSteppedClock, type SteppedClock } from '../helpers/stepped-clock.js'
import { type Answer, answers, contentOf, fails, perform, type Service, startService } from './service.js'

const SESSIONS = Array.from({ length: 36 }, (_, number) => `session-${number}`)
const HEAD = { head: 200, headers: { 'content-type': 'text/event-stream' } } as const
const ROLE = { ...textChunk(''), choices: [{ index: 0, delta: { role: 'assistant' }, finish_reason: null }] }

/** Three providers under load. The test sets how each behaves. */
class Field {
  readonly service: Service
  private calls = 0

  private constructor(
    service: Service,
    private readonly clock: SteppedClock,
  ) {
    this.service = service
  }

  static async start(): Promise<Field> {
    const clock = createSteppedClock()
    const service = await startService({
      routes: [{}, {}, {}],
      balance: '1000',
      router: { clock },
    })
    return new Field(service, clock)
  }

  set(provider: number, ...ways: readonly (keyof ReturnType<Field['ways']>)[]): void {
    const scripts = ways.map((way) => this.ways(provider)[way])
    let turn = 0
    this.service.upstreams[provider]!.script((reply, request) => {
      const script = scripts[turn++ % scripts.length]!
      return typeof script === 'function' ? script(reply, request) : perform(script, reply)
    })
  }

  /** All sessions at once, every other one streamed. */
  async round(): Promise<Map<string, string>> {
    const places = new Map<string, string>()
    const asked = SESSIONS.map(async (session, number) => {
      const answer = await this.service.ask({ session_id: session, stream: number % 2 === 0, max_tokens: 50 })
      places.set(session, place(answer))
    })
    await Promise.all(asked)
    this.calls += SESSIONS.length
    return places
  }

  recover(): Promise<void> {
    return this.clock.elapse(120_000)
  }

  /** Every call was charged exactly once, by the route that answered, and nothing is left on hold. */
  async audit(): Promise<void> {
    const context = { requestId: 'test', signal: new AbortController().signal }
    const paid = BigInt(this.calls) * 200_000n
    expect(await this.service.ledger.balance('alice', context)).toEqual({
      posted: 1_000_000_000_000n - paid,
      held: 0n,
      available: 1_000_000_000_000n - paid,
    })
    expect(this.service.router.inFlight).toBe(0)
    expect(this.service.events.filter(({ type }) => !type.startsWith('request-'))).toEqual([])
  }

  private ways(provider: number) {
    const slow: Script = async (reply, request) => {
      if (request.text.length % 3 === 0) await perform([HEAD, { write: sse([ROLE]) }], reply)
      await reply.closed
    }
    return {
      well: answers(`I am p${provider}`),
      slow,
      killed: ['reset'] as Script,
      'killed after the role': [HEAD, { write: sse([ROLE]) }, 'hang-up'] as Script,
      limited: fails(429, { 'retry-after': '7' }),
      'limited without a word': fails(429),
      overloaded: fails(503, { 'retry-after': '1' }),
      failing: fails(500),
      empty: [HEAD, { write: 'data: [DONE]\n\n' }, 'end'] as Script,
    }
  }
}

/** The provider of a call that was served correctly. */
function place(answer: Answer): string {
  expect(answer.status, answer.text).toBe(200)
  expect(answer.text).not.toContain('"error"')
  if (!answer.text.startsWith('{')) expect(answer.text).toMatch(/data: \[DONE\]\n\n$/)
  return contentOf(answer)
}

function expectStayed(before: Map<string, string>, after: Map<string, string>, healthy: readonly string[]) {
  for (const [session, home] of before) {
    if (healthy.includes(home)) expect(after.get(session), session).toBe(home)
    else expect(healthy, session).toContain(after.get(session))
  }
}

let field: Field
afterEach(() => field.service.close())

const FAULTS = ['killed', 'killed after the role', 'limited', 'overloaded', 'failing', 'empty'] as const

describe('under load, no caller notices', () => {
  it.each(isLong ? FAULTS : FAULTS.slice(0, 2))(
    'that one of three providers is %s, and only its sessions move',
    async (fault) => {
      field = await Field.start()
      const before = await field.round()
      expect(new Set(before.values()).size).toBe(3)
      field.set(1, fault)
      for (let round = 0; round < 3; round++)
        expectStayed(before, await field.round(), ['I am p0', 'I am p2'])
      field.set(1, 'well')
      await field.recover()
      await field.round()
      expect(await field.round()).toEqual(before)
      await field.audit()
    },
  )

  it('that two of three providers are killed and rate limited at once', async () => {
    field = await Field.start()
    const before = await field.round()
    field.set(1, 'killed', 'limited', 'failing', 'killed after the role', 'empty')
    field.set(2, 'overloaded', 'limited without a word', 'killed')
    for (let round = 0; round < 6; round++) {
      expectStayed(before, await field.round(), ['I am p0'])
      await field.recover()
    }
    expect(field.service.router.routes().find(({ provider }) => provider === 'p0')).toMatchObject({
      state: 'closed',
      failureRate: 0,
    })
    field.set(1, 'well')
    field.set(2, 'well')
    await field.recover()
    await field.round()
    expect(await field.round()).toEqual(before)
    await field.audit()
  })

  it('that two providers keep failing and recovering', async () => {
    field = await Field.start()
    const before = await field.round()
    field.set(1, 'well', 'killed', 'well', 'limited')
    field.set(2, 'failing', 'well', 'killed')
    for (let round = 0; round < 6; round++) {
      const during = await field.round()
      for (const [session, home] of before) {
        if (home === 'I am p0') expect(during.get(session)).toBe(home)
      }
      await field.recover()
    }
    await field.audit()
  })

  it('that two providers fail for good', async () => {
    field = await Field.start()
    const before = await field.round()
    field.set(1, 'slow')
    field.set(2, 'slow')
    const during = field.round()
    await Promise.all(field.service.upstreams.slice(1).map((upstream) => upstream.nextRequest()))
    await Promise.all(field.service.upstreams.slice(1).map((upstream) => upstream.close()))
    expectStayed(before, await during, ['I am p0'])
    expectStayed(before, await field.round(), ['I am p0'])
    await field.audit()
  })
})
