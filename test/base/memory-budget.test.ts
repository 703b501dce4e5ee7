import { describe, expect, it } from 'vitest'
import { isCompatError } from '../../src/base/errors.js'
import { MemoryBudget } from '../../src/base/memory-budget.js'

const MIB = 1_024 * 1_024

function codeOf(run: () => void): string | undefined {
  try {
    run()
  } catch (error) {
    if (isCompatError(error)) return error.code
    throw error
  }
  return undefined
}

async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  void promise.then(() => {
    settled = true
  })
  for (let turn = 0; turn < 5; turn++) await Promise.resolve()
  return settled
}

describe('requests in the memory budget', () => {
  it('count three times their size until they are freed', () => {
    const budget = new MemoryBudget(64 * MIB)
    const call = budget.open('alice')
    call.takeRequest(MIB)
    expect(budget.bytes).toBe(3 * MIB)
    call.freeRequest()
    call.freeRequest()
    expect(budget.bytes).toBe(0)
  })

  it('of one account use at most a quarter of it, unless the account has no other', () => {
    const budget = new MemoryBudget(64 * MIB)
    const large = budget.open('alice')
    large.takeRequest(15 * MIB)
    expect(codeOf(() => budget.open('alice').takeRequest(MIB))).toBe('rate_limited')
    budget.open('bob').takeRequest(5 * MIB)
    expect(codeOf(() => budget.open('bob').takeRequest(MIB))).toBe('rate_limited')
    large.end()
    budget.open('alice').takeRequest(5 * MIB)
  })

  it('are refused if there is no room, except a single one that would never fit', () => {
    const budget = new MemoryBudget(64 * MIB)
    const call = budget.open('alice')
    call.takeRequest(30 * MIB)
    expect(codeOf(() => budget.open('bob').takeRequest(MIB))).toBe('memory_full')
    expect(codeOf(() => budget.checkRoom())).toBe('memory_full')
    call.end()
    expect(codeOf(() => budget.checkRoom())).toBeUndefined()
  })

  it('smaller than 16 KiB are not counted', () => {
    const budget = new MemoryBudget(MIB)
    budget.open('alice').takeRequest(16_383)
    expect(budget.bytes).toBe(0)
  })
})

describe('replies beyond the memory budget', () => {
  it('wait for room in order of arrival, while one of them continues', async () => {
    const budget = new MemoryBudget(12 * MIB)
    const [first, second, third] = ['a', 'b', 'c'].map((account) => budget.open(account))
    expect(first!.keep(6 * MIB)).toBeUndefined()
    expect(second!.keep(6 * MIB)).toBeUndefined()
    const waiting = first!.keep(7 * MIB)!
    const last = third!.keep(2 * MIB)!
    expect(second!.keep(8 * MIB)).toBeUndefined()
    expect(await isSettled(waiting)).toBe(false)
    second!.end()
    expect([await isSettled(waiting), await isSettled(last)]).toEqual([true, true])
    first!.end()
    third!.end()
    expect(budget.bytes).toBe(0)
  })

  it('of at most a 256th of the budget never wait', () => {
    const budget = new MemoryBudget(MIB)
    budget.take(MIB)
    const calls = Array.from({ length: 10 }, () => budget.open('alice'))
    expect(calls.map((call) => call.keep(4_096))).toEqual(calls.map(() => undefined))
    expect(codeOf(() => budget.checkRoom())).toBe('memory_full')
  })

  it('stop waiting once their call has ended', async () => {
    const budget = new MemoryBudget(MIB)
    budget.open('alice').keep(2 * MIB)
    const call = budget.open('bob')
    const waiting = call.keep(2 * MIB)!
    call.end()
    expect([await isSettled(waiting), call.isWaiting, budget.bytes]).toEqual([true, false, 2 * MIB])
  })

  it('count until they have been sent', async () => {
    const budget = new MemoryBudget(10 * MIB)
    const call = budget.open('alice')
    call.keep(MIB)
    let sent = (): void => {}
    call.sendUntil(
      new Promise((resolve) => {
        sent = resolve
      }),
    )
    call.end()
    expect(budget.bytes).toBe(MIB)
    sent()
    await expect.poll(() => budget.bytes).toBe(0)
  })
})

it('a memory budget frees its caches before it refuses a call', () => {
  const budget = new MemoryBudget(10 * MIB)
  let spare = 0
  while (budget.take(MIB)) spare++
  budget.whenFull((bytes) => {
    const freed = Math.min(Math.ceil(bytes / MIB), spare)
    spare -= freed
    budget.give(freed * MIB)
  })
  budget.open('alice').takeRequest(2 * MIB)
  expect([spare, budget.bytes]).toEqual([4, 10 * MIB])
})
