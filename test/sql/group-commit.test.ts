import { describe, expect, it } from 'vitest'
import { createGroupCommit, type FaultKind } from '../../src/sql/group-commit.js'
import { createDeferred } from '../helpers/deferred.js'

interface Command {
  readonly id: string
  readonly value: number
}

class Fault extends Error {
  constructor(readonly kind: FaultKind) {
    super(kind)
  }
}

/** Creates a group commit over a function, and records its batches. */
function createBench(
  apply: (batch: readonly Command[]) => Promise<readonly number[]> | readonly number[],
  options: {
    maxCommands?: number
    patienceMs?: number
    byId?: boolean
    takeTurn?: () => Promise<() => void>
  } = {},
) {
  const batches: (readonly number[])[] = []
  const groupCommit = createGroupCommit<Command, number>({
    apply: async (batch) => {
      batches.push(batch.map(({ value }) => value))
      return apply(batch)
    },
    faultOf: (error) => (error instanceof Fault ? error.kind : 'permanent'),
    maxCommands: options.maxCommands ?? 100,
    patienceMs: options.patienceMs ?? 5_000,
    ...(options.takeTurn === undefined ? {} : { takeTurn: options.takeTurn }),
    ...(options.byId
      ? {
          conflicts: {
            keysOf: ({ id }: Command) => [id],
            alike: (first: Command, second: Command) => first.value < 0 && second.value < 0,
          },
        }
      : {}),
  })
  const add = (value: number, signal?: AbortSignal, id = `id-${value}`) =>
    groupCommit.add({ id, value }, signal)
  return { batches, groupCommit, add }
}

const double = (batch: readonly Command[]) => batch.map(({ value }) => value * 2)

describe('group commit', () => {
  it('puts concurrent calls into one batch and gives each its own outcome', async () => {
    const { batches, add } = createBench(double)
    expect(await Promise.all([add(1), add(2), add(3)])).toEqual([2, 4, 6])
    expect(batches).toEqual([[1, 2, 3]])
  })

  it('fills the next batch while one runs, up to its maximum', async () => {
    const gate = createDeferred()
    const { batches, add } = createBench(
      async (batch) => {
        await gate.promise
        return double(batch)
      },
      { maxCommands: 3 },
    )
    const first = add(1)
    await new Promise((resolve) => setImmediate(resolve))
    const rest = [2, 3, 4, 5, 6].map((value) => add(value))
    gate.resolve()
    expect(await Promise.all([first, ...rest])).toEqual([2, 4, 6, 8, 10, 12])
    expect(batches).toEqual([[1], [2, 3, 4], [5, 6]])
  })

  it('fails only the call that caused the fault, and keeps the order of the others', async () => {
    const applied: number[] = []
    const { add } = createBench((batch) => {
      if (batch.some(({ value }) => value === 5)) throw new Fault('one-command')
      applied.push(...batch.map(({ value }) => value))
      return double(batch)
    })
    const results = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7, 8, 9].map((value) => add(value)))
    expect(results.map((result, index) => result.status === 'rejected' && index + 1).filter(Boolean)).toEqual(
      [5],
    )
    expect(applied).toEqual([1, 2, 3, 4, 6, 7, 8, 9])
  })

  it('retries the same batch after a transient fault', async () => {
    let faults = 3
    const { batches, add } = createBench((batch) => {
      if (faults-- > 0) throw new Fault('transient')
      return double(batch)
    })
    expect(await Promise.all([add(1), add(2)])).toEqual([2, 4])
    expect(batches).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
      [1, 2],
    ])
  })

  it('lets calls that arrive during the wait for a lock join the next batch', async () => {
    let later: Promise<number> | undefined
    const { batches, add } = createBench((batch) => {
      if (later !== undefined) return double(batch)
      later = add(3)
      throw new Fault('locked')
    })
    expect(await Promise.all([add(1), add(2)])).toEqual([2, 4])
    expect(await later).toBe(6)
    expect(batches).toEqual([
      [1, 2],
      [1, 2, 3],
    ])
  })

  it('rejects calls that wait for a lock after their patience, or when it closes', async () => {
    const locked = () => {
      throw new Fault('locked')
    }
    await expect(createBench(locked, { patienceMs: 50 }).add(1)).rejects.toThrow('locked')
    const { batches, groupCommit, add } = createBench(locked)
    const results = Promise.allSettled([add(1), add(3)])
    await groupCommit.close()
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(batches).toEqual([[1, 3]])
  })

  it('does not retry a call that waits for a lock if it is unknown which call does', async () => {
    const { batches, add } = createBench(async (batch) => {
      if (!batch.some(({ value }) => value === 3)) return double(batch)
      await new Promise((resolve) => setTimeout(resolve, 20))
      throw new Fault('one-locked')
    })
    const locked = add(3)
    const others = [1, 2, 4].map((value) => add(value))
    await expect(locked).rejects.toThrow('one-locked')
    expect(await Promise.all(others)).toEqual([2, 4, 8])
    expect(batches).toEqual([[3, 1, 2, 4], [3, 1], [3], [1], [2, 4]])
  })

  it('rejects after their patience all calls of a batch in which an unknown one waits', async () => {
    const { batches, add } = createBench(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        throw new Fault('one-locked')
      },
      { patienceMs: 20 },
    )
    const results = await Promise.allSettled([1, 2, 3, 4].map((value) => add(value)))
    expect(results.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
    expect(batches).toEqual([[1, 2, 3, 4]])
  })

  it('takes a batch only in its turn, with the calls that have arrived by then', async () => {
    const turn = createDeferred()
    let turns = 0
    const { batches, add } = createBench(double, {
      takeTurn: async () => {
        await turn.promise
        return () => turns++
      },
    })
    const first = add(1)
    await new Promise((resolve) => setImmediate(resolve))
    const second = add(2)
    turn.resolve()
    expect(await Promise.all([first, second])).toEqual([2, 4])
    expect(batches).toEqual([[1, 2]])
    expect(turns).toBe(1)
  })

  it('rejects a call after its patience, with the fault that delayed it', async () => {
    const { add } = createBench(
      () => {
        throw new Fault('transient')
      },
      { patienceMs: 100 },
    )
    await expect(add(1)).rejects.toThrow('transient')
  })

  it('fails a whole batch on a permanent fault, and continues with the next', async () => {
    let isBroken = true
    const { add } = createBench((batch) => {
      if (isBroken) throw new Error('disk full')
      return double(batch)
    })
    const results = await Promise.allSettled([add(1), add(2)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    isBroken = false
    expect(await add(3)).toBe(6)
  })

  it('never runs an aborted call', async () => {
    const { batches, add } = createBench(double)
    const controller = new AbortController()
    const left = add(1, controller.signal)
    const stays = add(2)
    controller.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    expect(await stays).toBe(4)
    expect(batches).toEqual([[2]])
  })

  it('does not retry an aborted call', async () => {
    const controller = new AbortController()
    const { batches, add } = createBench((batch) => {
      if (!controller.signal.aborted) {
        controller.abort(new Error('gone'))
        throw new Fault('transient')
      }
      return double(batch)
    })
    const left = add(1, controller.signal)
    const stays = add(2)
    await expect(left).rejects.toThrow('gone')
    expect(await stays).toBe(4)
    expect(batches).toEqual([[1, 2], [2]])
  })

  it('runs calls on one key in separate batches, in order, unless they are alike', async () => {
    const { batches, add } = createBench(double, { byId: true })
    await Promise.all([
      add(-1, undefined, 'a'),
      add(-2, undefined, 'a'),
      add(3, undefined, 'a'),
      add(-4, undefined, 'a'),
      add(5, undefined, 'b'),
    ])
    expect(batches).toEqual([[-1, -2, 5], [3], [-4]])
  })

  it('limits a batch even if some calls have the same key', async () => {
    const { batches, add } = createBench(double, { byId: true, maxCommands: 2 })
    await Promise.all([1, 2, 3, 4, 5].map((value) => add(value)))
    expect(batches).toEqual([[1, 2], [3, 4], [5]])
  })

  it('keeps the order of calls on one key during a wait for a lock', async () => {
    let isLocked = true
    let later: Promise<number> | undefined
    const { batches, add } = createBench(
      (batch) => {
        if (!isLocked) return double(batch)
        isLocked = false
        later = add(2, undefined, 'a')
        throw new Fault('locked')
      },
      { byId: true },
    )
    expect(await add(1, undefined, 'a')).toBe(2)
    expect(await later).toBe(4)
    expect(batches).toEqual([[1], [1], [2]])
  })

  it('does not retry a failed batch while it closes', async () => {
    const { groupCommit, batches, add } = createBench(() => {
      throw new Fault('transient')
    })
    const refused = expect(add(1)).rejects.toThrow('transient')
    await groupCommit.close()
    await refused
    expect(batches).toEqual([[1]])
  })

  it('runs the waiting calls when it closes, and accepts no more', async () => {
    const { groupCommit, add } = createBench(double)
    let isDone = false
    const waiting = add(1).finally(() => {
      isDone = true
    })
    await groupCommit.close()
    expect(isDone).toBe(true)
    expect(await waiting).toBe(2)
    await expect(add(2)).rejects.toThrow('The store is closed')
  })
})
