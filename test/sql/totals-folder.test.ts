import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Folded } from '../../src/sql/totals.js'
import { createTotalsFolder } from '../../src/sql/totals-folder.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A folder on a database that answers as `answer` says. */
function createFolder(answer: { folded: Folded | Error }) {
  const told: number[] = []
  let rounds = 0
  const folder = createTotalsFolder({
    database: {
      engine: 'postgres',
      async all() {
        rounds++
        if (answer.folded instanceof Error) throw answer.folded
        return [{ folded: answer.folded, entries: '0', since: null }]
      },
      batch: async () => [],
    },
    onBehind: (behindMs) => told.push(behindMs),
    everyMs: 1_000,
  })
  return { folder, told, rounds: () => rounds }
}

it('a folder of totals adds what its process has written a second later, and then rests', async () => {
  const { folder, rounds, told } = createFolder({ folded: 'done' })
  folder.wrote()
  folder.wrote()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(rounds()).toBe(1)
  folder.wrote()
  await folder.close()
  expect(rounds()).toBe(2)
  expect(told).toEqual([])
})

it.each<[string, Folded | Error]>([
  ['fails', new Error('gone')],
  ['finds another process at it', 'busy'],
  ['finds its entries too young', 'soon'],
])(
  'a folder of totals that %s for a minute says so each minute, and once when nothing is left',
  async (_, folded) => {
    const answer: { folded: Folded | Error } = { folded }
    const { folder, told } = createFolder(answer)
    folder.wrote()
    await vi.advanceTimersByTimeAsync(59_000)
    expect(told).toEqual([])
    await vi.advanceTimersByTimeAsync(62_500)
    expect(told).toEqual([expect.closeTo(60_000, -4), expect.closeTo(120_000, -4)])
    answer.folded = 'done'
    await vi.advanceTimersByTimeAsync(2_000)
    expect(told.at(-1)).toBe(0)
    await vi.advanceTimersByTimeAsync(200_000)
    expect(told).toHaveLength(3)
    await folder.close()
  },
)

it('a folder of totals that cannot add entries by account for a minute says so, and tries again', async () => {
  const told: number[] = []
  let isBroken = true
  let tries = 0
  const waiting = { folded: 'done', entries: '400000', since: '1' }
  const folder = createTotalsFolder({
    database: {
      engine: 'postgres',
      async all({ text }) {
        if (text.includes('fold_totals'))
          return [isBroken ? waiting : { ...waiting, entries: '0', since: null }]
        tries++
        if (isBroken) throw new Error('gone')
        return [{ folded: '0' }]
      },
      batch: async () => [],
    },
    onBehind: (behindMs) => told.push(behindMs),
    everyMs: 1_000,
  })
  folder.wrote()
  await vi.advanceTimersByTimeAsync(59_000)
  expect(told).toEqual([])
  await vi.advanceTimersByTimeAsync(4_000)
  expect(told).toEqual([expect.closeTo(60_000, -4)])
  expect(tries).toBeGreaterThan(10)
  const before = tries
  isBroken = false
  await vi.advanceTimersByTimeAsync(3_000)
  expect(tries).toBe(before)
  expect(told.at(-1)).toBe(0)
  await folder.close()
})
