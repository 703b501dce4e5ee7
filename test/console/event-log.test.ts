import { describe, expect, it } from 'vitest'
import { createEventLog, type EventLog } from '../../src/console/serving/event-log.js'
import type { RequestEnd, RequestStart } from '../../src/contracts/index.js'

const start = (requestId: string, at = 1): RequestStart => ({
  type: 'request-start',
  operation: 'chat',
  requestId,
  at,
})
const end = (requestId: string, more: Partial<RequestEnd> = {}): RequestEnd => ({
  type: 'request-end',
  operation: 'chat',
  requestId,
  at: 5,
  durationMs: 4,
  outcome: 'completed',
  status: 200,
  facts: { requestId, account: 'alice', credentialId: 'key', model: 'acme/fast' },
  ...more,
})
const idsIn = (log: EventLog) => log.newestFirst().map(({ event }) => (event as RequestEnd).requestId)

describe("the console's event log", () => {
  it('keeps only the newest events, newest first, and numbers all', () => {
    const log = createEventLog()
    expect(log.newestFirst()).toEqual([])
    for (let number = 1; number <= log.capacity + 2; number++) log.record(end(`r${number}`))
    const kept = log.newestFirst().map(({ number, event }) => `${number} ${(event as RequestEnd).requestId}`)
    expect(kept).toHaveLength(log.capacity)
    expect([kept[0], kept[1], kept.at(-1)]).toEqual(['1002 r1002', '1001 r1001', '3 r3'])
  })

  it('keeps the events themselves, not copies', () => {
    const log = createEventLog()
    const event = end('a')
    log.record(event)
    expect(log.newestFirst()[0]!.event).toBe(event)
  })

  it('keeps only some of the calls completed in one second, but all failures', () => {
    const log = createEventLog()
    const charge = {} as RequestEnd['charge']
    const completed = (requestId: string, at: number) => {
      log.record(start(requestId, at))
      log.record(end(requestId, { at, charge }))
    }
    for (let turn = 1; turn <= log.completedASecond + 1; turn++) completed(`r${turn}`, 1_500)
    log.record(end('wrong', { at: 1_600, outcome: 'upstream_error' }))
    log.record(end('free', { at: 1_700 }))
    completed('too many', 1_999)
    completed('next', 2_000)
    expect(idsIn(log).slice(0, 4)).toEqual(['next', 'free', 'wrong', `r${log.completedASecond}`])
  })

  it('keeps its events, and the newest unauthenticated requests, however many of these arrive', () => {
    const log = createEventLog()
    const caller = { account: 'alice', credentialId: 'key' }
    const refusals: Partial<RequestEnd>[] = [
      { outcome: 'invalid_api_key', status: 401 },
      { outcome: 'expired_credential', status: 401, caller },
      { outcome: 'client-left', status: 499 },
    ]
    log.record(end('completed'))
    log.record(end('no such model', { outcome: 'model_not_found', status: 404, facts: undefined, caller }))
    for (const refusal of refusals) {
      for (let turn = 0; turn < 2 * log.capacity; turn++) {
        log.record(end(`r${turn}`, { ...refusal, facts: undefined }))
      }
    }
    log.record(end('last'))
    const ids = idsIn(log)
    expect(ids).toHaveLength(log.unauthenticated + 3)
    expect([ids[0], ids[1], ...ids.slice(-2)]).toEqual(['last', 'r1999', 'no such model', 'completed'])
  })

  it('keeps its events, and the newest console faults, however many of these occur', () => {
    const log = createEventLog()
    log.record(end('completed'))
    for (let turn = 0; turn < 2 * log.capacity; turn++) {
      log.record({ type: 'fault', where: 'console', error: { name: 'Error', message: `no ${turn}` } })
    }
    log.record(end('last'))
    const kept = log.newestFirst().map(({ event }) => event)
    expect(kept).toHaveLength(102)
    expect([kept[0], kept[1], kept.at(-1)]).toMatchObject([
      { requestId: 'last' },
      { error: { message: 'no 1999' } },
      { requestId: 'completed' },
    ])
  })

  it('omits successful reads of the models but keeps refused ones', () => {
    const log = createEventLog()
    log.record(end('m', { operation: 'list-models' }))
    expect(log.newestFirst()).toEqual([])
    log.record(end('m', { operation: 'get-model', status: 401, outcome: 'invalid_api_key' }))
    expect(log.newestFirst()).toHaveLength(1)
  })

  it('finds the end of a call by its hold, but not the end of a replay', () => {
    const log = createEventLog()
    const first = end('a', { holdId: 'h1' })
    log.record(first)
    log.record(end('b', { holdId: 'h1', replayed: true }))
    log.record(end('c'))
    expect([...log.endsByHold()]).toEqual([['h1', first]])
  })

  it('holds as many events after many calls as after a thousand', () => {
    const log = createEventLog()
    for (let turn = 0; turn < 200_000; turn++) {
      log.record(start(`r${turn}`))
      log.record(end(`r${turn}`))
    }
    expect(log.newestFirst()).toHaveLength(log.capacity)
  })
})
