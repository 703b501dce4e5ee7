import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Application } from './application.js'
import { call, creditsOf, EVENT_STREAM, handleOf, marksIn, PIECE, untilClosed } from './leaving.js'
import { WATCHED_APPS } from './watched.js'

const PIECES = 5

describe('a Worker', { timeout: 60_000 }, () => {
  let worker: Application
  beforeAll(async () => {
    const app = WATCHED_APPS.find(({ title }) => title === 'Workers') ?? expect.fail()
    worker = await Application.start(app, inject('env'))
  })
  afterAll(() => worker?.close())

  const endOf = (id: string) => expect.poll(async () => (await handleOf(worker)).costs[id])

  it('charges a client that leaves while a stream goes on, and ends the call of the provider', async () => {
    const asked = worker.upstream.nextRequest()
    worker.upstream.scriptOnce(untilClosed)
    const { text } = await call(worker, { id: 'left', leavesAfter: PIECES })
    await (await asked).closed
    await endOf('left').toBeGreaterThanOrEqual(marksIn(text) * 2)
    expect(await handleOf(worker)).toMatchObject({ inFlight: 0, openHolds: 0, timers: 0 })
    expect(await creditsOf(worker)).toEqual({ held: 0, spent: (await handleOf(worker)).costs.left })
  })

  it('charges a client that leaves a silent stream, when the next comment line is written to it', async () => {
    const asked = worker.upstream.nextRequest()
    worker.upstream.scriptOnce([{ head: 200, headers: EVENT_STREAM }, { write: PIECE }, 'stall'])
    await call(worker, { id: 'silent', leavesAfter: 1 })
    await (await asked).closed
    await endOf('silent').toBeGreaterThanOrEqual(2)
    expect(await handleOf(worker)).toMatchObject({ inFlight: 0, openHolds: 0, timers: 0 })
  })

  it('answers 504 to a call whose provider hangs, although the call before it has ended, and one beside it ends', async () => {
    const whole = { id: 'c', choices: [{ index: 0, message: { role: 'assistant', content: '#' } }] }
    const answer = JSON.stringify({ ...whole, usage: { prompt_tokens: 1, completion_tokens: 1 } })
    const json = { 'content-type': 'application/json' }
    const ends = [{ head: 200, headers: json }, { write: answer }, 'end'] as const
    worker.upstream.scriptOnce(ends)
    expect((await call(worker, { id: 'a', stream: false })).status).toBe(200)
    worker.upstream.scriptOnce(['stall'], ends)
    const asked = worker.upstream.nextRequest()
    const hanging = call(worker, { id: 'b', stream: false })
    const { closed } = await asked
    expect((await call(worker, { id: 'c', stream: false })).status).toBe(200)
    const { status, text } = await hanging
    expect([status, text]).toEqual([504, expect.stringContaining('provider_timeout')])
    await closed
  })

  it('frees the hold of a call that nobody has ended, when a sweep finds it expired', async () => {
    const asked = worker.upstream.nextRequest()
    worker.upstream.scriptOnce(['stall'])
    const hanging = call(worker, { id: 'expired', stream: false })
    await asked
    expect((await creditsOf(worker)).held).toBeGreaterThan(0)
    expect(await (await fetch(new URL('/later', worker.baseUrl))).json()).toEqual({ expired: 1 })
    expect((await handleOf(worker)).expired).toEqual(['alice'])
    expect((await creditsOf(worker)).held).toBe(0)
    await hanging
  })
})
