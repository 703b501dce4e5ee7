import { describe, expect, it } from 'vitest'
import { createEventLog } from '../../src/console/event-log.js'
import type { RequestEnd, RequestStart, RouterEvent } from '../../src/contracts/index.js'

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
  ...more,
})

describe('the log of events', () => {
  it('keeps the newest only, newest first, and numbers them all', () => {
    const log = createEventLog(3)
    expect([...log.newestFirst()]).toEqual([])
    for (const id of ['a', 'b', 'c', 'd', 'e']) log.take(end(id))
    const kept = [...log.newestFirst()].map(({ number, event }) => [number, (event as RequestEnd).requestId])
    expect(kept).toEqual([
      [5, 'e'],
      [4, 'd'],
      [3, 'c'],
    ])
  })

  it('keeps events as they came, without a copy', () => {
    const log = createEventLog()
    const event = end('a')
    log.take(event)
    expect([...log.newestFirst()][0]!.event).toBe(event)
  })

  it('keeps only some of the calls completed in one second, and all that went wrong', () => {
    const log = createEventLog(1_000, 1_000, 2)
    const charge = {} as RequestEnd['charge']
    const completed = (requestId: string, at: number) => {
      log.take(start(requestId, at))
      log.take(end(requestId, { at, charge }))
    }
    for (const id of ['a', 'b', 'c']) completed(id, 1_500)
    log.take(end('wrong', { at: 1_600, outcome: 'upstream_error' }))
    log.take(end('free', { at: 1_700 }))
    completed('d', 1_999)
    completed('e', 2_000)
    const kept = [...log.newestFirst()].map(({ event }) => (event as RequestEnd).requestId)
    expect(kept).toEqual(['e', 'free', 'wrong', 'b', 'a'])
    expect(log.started.size).toBe(0)
  })

  it('knows which calls are in flight, also where two share an id', () => {
    const log = createEventLog()
    log.take(start('a', 1))
    log.take(start('b', 2))
    log.take(start('a', 3))
    expect([...log.started]).toMatchObject([
      ['a', { at: 1 }],
      ['b', { at: 2 }],
    ])
    log.take(end('a'))
    expect([...log.started.keys()]).toEqual(['a', 'b'])
    log.take(end('a'))
    log.take(end('b'))
    log.take(end('never-started'))
    expect(log.started.size).toBe(0)
  })

  it('gives up the oldest calls in flight rather than grow', () => {
    const log = createEventLog(10, 100)
    for (let turn = 0; turn < 1_000; turn++) log.take(start(`r${turn}`))
    expect(log.started.size).toBe(100)
    expect(log.started.has('r999')).toBe(true)
    expect(log.started.has('r0')).toBe(false)
  })

  it('leaves out lists of models that were read, and keeps those that were refused', () => {
    const log = createEventLog()
    log.take({ ...start('m'), operation: 'list-models' })
    expect(log.started.size).toBe(0)
    log.take(end('m', { operation: 'list-models' }))
    expect([...log.newestFirst()]).toEqual([])
    log.take(end('m', { operation: 'get-model', status: 401, outcome: 'invalid_api_key' }))
    expect([...log.newestFirst()]).toHaveLength(1)
  })

  it('finds the end of a call by its hold, and not that of a replay', () => {
    const log = createEventLog()
    const first = end('a', { holdId: 'h1' })
    log.take(first)
    log.take(end('b', { holdId: 'h1', replayed: true }))
    log.take(end('c'))
    expect([...log.endsByHold()]).toEqual([['h1', first]])
  })

  it('holds as many events after many calls as after a thousand', () => {
    const log = createEventLog(1_000, 100)
    const feed = (events: number): void => {
      for (let turn = 0; turn < events; turn++) {
        log.take(start(`r${turn}`))
        log.take(end(`r${turn}`))
      }
    }
    feed(1_000)
    const kinds: RouterEvent['type'][] = [...log.newestFirst()].map(({ event }) => event.type)
    feed(200_000)
    expect([...log.newestFirst()].map(({ event }) => event.type)).toEqual(kinds)
    expect(log.started.size).toBe(0)
  })
})
