import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Busy, createRowQueues } from '../../src/postgres/row-queues.js'
import { createDeferred } from '../helpers/deferred.js'

interface Command {
  readonly id: number
  readonly rows: readonly string[]
}

interface Done {
  readonly kind: 'done'
  readonly id: number
}

const LOCKED = new Error('locked')

/** Lanes over rows that other transactions lock and free as the test says. */
function createBench({ patienceMs = 10_000 } = {}) {
  const locked = new Set<string>()
  const batches: { ids: readonly number[]; awaited: readonly string[] }[] = []
  /** Resolves when the row is free. */
  const frees = new Map<string, ReturnType<typeof createDeferred<void>>>()
  let failNext: Error | undefined
  const lanes = createRowQueues<Command, Done>({
    async apply(batch, awaited) {
      batches.push({ ids: batch.map(({ id }) => id), awaited })
      const error = failNext
      failNext = undefined
      if (error !== undefined) throw error
      for (const row of awaited) {
        await frees.get(row)?.promise
        if (locked.has(row)) throw LOCKED
      }
      return batch.map(({ id, rows }): Done | Busy => {
        const row = rows.find((name) => locked.has(name))
        return row === undefined ? { kind: 'done', id } : { kind: 'busy', row }
      })
    },
    faultOf: (error) => (error === LOCKED ? 'locked' : 'permanent'),
    rowsOf: ({ rows }) => rows,
    maxCommands: 100,
    patienceMs,
  })
  return {
    batches,
    lanes,
    add: (id: number, ...rows: string[]) => lanes.add({ id, rows }),
    lock(...rows: string[]) {
      for (const row of rows) {
        locked.add(row)
        frees.set(row, createDeferred<void>())
      }
    },
    free(row: string) {
      locked.delete(row)
      frees.get(row)?.resolve()
      frees.delete(row)
    },
    fail(error: Error) {
      failNext = error
    },
  }
}

const isDone = (...ids: number[]) => ids.map((id) => ({ kind: 'done', id }))

describe('lanes of a PostgreSQL batch', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('run other calls at once, and calls for a locked row together when it is free', async () => {
    const { add, lock, free, batches } = createBench()
    lock('a')
    const waiting = [add(1, 'a'), add(2, 'a')]
    expect(await Promise.all([add(3, 'b'), add(4, 'c')])).toEqual(isDone(3, 4))
    await expect.poll(() => batches.at(-1)?.awaited).toEqual(['a'])
    // Joins the queue without another try.
    const late = add(5, 'a')
    expect(await add(6, 'b')).toEqual(isDone(6)[0])
    free('a')
    expect(await Promise.all([...waiting, late])).toEqual(isDone(1, 2, 5))
    const ofRow = batches.filter(({ ids }) => ids.some((id) => [1, 2, 5].includes(id)))
    expect(ofRow).toEqual([
      { ids: [1, 2, 3, 4], awaited: [] },
      ...Array(5).fill({ ids: [1, 2], awaited: [] }),
      { ids: [1, 2], awaited: ['a'] },
      { ids: [5], awaited: ['a'] },
    ])
    expect(await add(7, 'a')).toEqual(isDone(7)[0])
    expect(batches.at(-1)).toEqual({ ids: [7], awaited: [] })
  })

  it('pause before they try a busy row again, while others run', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { add, lock, free, batches } = createBench()
    lock('a', 'b')
    const busy = [add(1, 'a'), add(2, 'b')]
    for (let turn = 0; turn < 10; turn++) await setImmediate()
    expect(await add(3, 'c')).toEqual(isDone(3)[0])
    free('a')
    free('b')
    vi.advanceTimersByTime(5)
    expect(await Promise.all(busy)).toEqual(isDone(1, 2))
    expect(batches.map(({ ids }) => ids)).toEqual([[1, 2], [3], [1, 2]])
  })

  it('do not wait for a row that is free again', async () => {
    const waits: (readonly string[])[] = []
    const lanes = createRowQueues<Command, Done>({
      async apply([command], awaited) {
        waits.push(awaited)
        return [waits.length < 6 ? { kind: 'busy', row: 'a' } : { kind: 'done', id: command!.id }]
      },
      faultOf: () => 'permanent',
      rowsOf: ({ rows }) => rows,
      maxCommands: 1,
      patienceMs: 1_000,
    })
    expect(await lanes.add({ id: 1, rows: ['a'] })).toEqual(isDone(1)[0])
    expect(waits).toEqual(Array(6).fill([]))
  })

  it('wait at once for a row that many calls need, and let the next calls for it join', async () => {
    const { lanes, add, lock, free, batches } = createBench()
    lock('a')
    const crowd = Array.from({ length: 20 }, (_, id) => add(id, 'a'))
    await expect.poll(() => batches.length).toBe(2)
    free('a')
    expect(await Promise.all(crowd)).toEqual(isDone(...crowd.keys()))
    expect(await add(20, 'a')).toEqual(isDone(20)[0])
    expect(batches.map(({ ids, awaited }) => [ids.length, awaited])).toEqual([
      [20, []],
      [20, ['a']],
      [1, ['a']],
    ])
    expect(await add(21, 'b')).toEqual(isDone(21)[0])
    expect(batches.at(-1)!.awaited).toEqual([])
    // The queue closes when nobody has joined it for a moment.
    await lanes.close()
  })

  it('wait for one row at a time', async () => {
    const { add, lock, free, batches } = createBench()
    lock('a', 'b')
    const [first, second] = [add(1, 'a'), add(2, 'b')]
    await expect.poll(() => batches.at(-1)?.awaited).toEqual(['a'])
    free('b')
    expect(await add(3, 'c')).toEqual(isDone(3)[0])
    free('a')
    expect(await Promise.all([first, second])).toEqual(isDone(1, 2))
    const waits = batches.filter(({ awaited }) => awaited.length > 0)
    expect(waits).toEqual([
      { ids: [1], awaited: ['a'] },
      { ids: [2], awaited: ['b'] },
    ])
  })

  it('wait for all rows of a call that finds a different one busy each time', async () => {
    const rows = ['account', 'bucket']
    const busy: (readonly string[])[] = []
    const lanes = createRowQueues<Command, Done>({
      async apply([command], awaited) {
        busy.push(awaited)
        if (awaited.length === 2) return [{ kind: 'done', id: command!.id }]
        return [{ kind: 'busy', row: awaited[0] === 'account' ? 'bucket' : 'account' }]
      },
      faultOf: () => 'permanent',
      rowsOf: () => rows,
      maxCommands: 1,
      patienceMs: 1_000,
    })
    expect(await lanes.add({ id: 1, rows })).toEqual(isDone(1)[0])
    expect(busy.slice(6)).toEqual([['account'], ['bucket'], ['account'], ['account', 'bucket']])
  })

  it('do not retry a call that waits for anything else', async () => {
    const { add, fail, batches } = createBench()
    fail(LOCKED)
    expect(await Promise.all([add(1, 'a'), add(2, 'b')])).toEqual(isDone(1, 2))
    expect(batches.map(({ ids }) => ids)).toEqual([[1, 2], [1], [2]])
    fail(LOCKED)
    expect(await add(3, 'c')).toEqual(isDone(3)[0])
  })

  it('reject a call after its patience, and fail a batch on a permanent fault', async () => {
    const { lanes, add, lock, fail } = createBench({ patienceMs: 50 })
    lock('a')
    const waiting = add(1, 'a')
    fail(new Error('disk full'))
    await expect(add(2, 'b')).rejects.toThrow('disk full')
    await expect(waiting).rejects.toThrow('disk full')
    await lanes.close()
    await expect(add(3, 'b')).rejects.toThrow('The store is closed')
  })

  it('run the waiting calls when they close', async () => {
    const { lanes, add, lock, free, batches } = createBench()
    lock('a')
    const [waiting, other] = [add(1, 'a'), add(2, 'b')]
    const closed = lanes.close()
    expect(await other).toEqual(isDone(2)[0])
    await expect.poll(() => batches.at(-1)?.awaited).toEqual(['a'])
    free('a')
    expect(await waiting).toEqual(isDone(1)[0])
    await closed
  })

  it('run the paused calls when they close', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { lanes, add, lock, free, batches } = createBench()
    lock('a')
    const paused = add(1, 'a')
    for (let turn = 0; turn < 10; turn++) await setImmediate()
    free('a')
    await lanes.close()
    expect(await paused).toEqual(isDone(1)[0])
    expect(batches).toEqual([
      { ids: [1], awaited: [] },
      { ids: [1], awaited: ['a'] },
    ])
    await expect(add(2, 'b')).rejects.toThrow('closed')
  })
})
