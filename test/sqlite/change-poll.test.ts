import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { createChangePoll } from '../../src/sqlite/change-poll.js'
import { type Connection, openConnection } from '../../src/sqlite/connection.js'
import { migrate } from '../../src/sqlite/migrations.js'
import { hear } from '../helpers/hear.js'
import { createTestFile } from '../helpers/sqlite.js'

const DAY_MS = 86_400_000

let connection: Connection
beforeEach(async () => {
  const place = await createTestFile()
  connection = openConnection(place.file)
  migrate(connection, place.file)
  return () => {
    connection.close()
    place.remove()
  }
})

/** A process that polls for changes, but not while it is suspended. */
async function startProcess() {
  let reading = Promise.resolve()
  const poll = createChangePoll(async (statements) => {
    await reading
    return connection.batch(statements)
  })
  const heard = await hear((changed, connected) => poll.watch('models', changed, connected))
  return {
    heard,
    fail() {
      reading = Promise.reject(new Error('The file cannot be read'))
      reading.catch(() => undefined)
      return () => {
        reading = Promise.resolve()
      }
    },
    suspend() {
      let resume = (): void => {}
      reading = new Promise((resolve) => {
        resume = resolve
      })
      return resume
    },
  }
}

function change(id: string, daysAgo: number): void {
  const at = BigInt(Date.now() - daysAgo * DAY_MS)
  connection.prepare("insert into {changes} (topic, id, at) values ('models', ?1, ?2)").run([id, at])
}

it('the SQLite change poll reports an unreadable file as a lost connection, and missed changes afterwards', async () => {
  const { heard, fail } = await startProcess()
  const mend = fail()
  change('missed', 0)
  expect(await heard.connection()).toBe(false)
  mend()
  expect(await heard.connection()).toBe(true)
  expect(await heard.next()).toBe('missed')
  heard.end()
})

it('the SQLite change poll reads a file rarely while it stays unreadable, and soon after it is readable', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  let isBroken = true
  let asked = 0
  const poll = createChangePoll(async (statements) => {
    asked++
    if (isBroken) throw new Error('The file cannot be read')
    return connection.batch(statements)
  })
  const states: boolean[] = []
  const end = poll.watch(
    'models',
    () => undefined,
    (isConnected) => states.push(isConnected),
  )
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  await pass(120_000)
  expect(asked).toBeLessThan(20)
  isBroken = false
  await pass(11_000)
  expect(states).toEqual([false, true])
  end()
})

it('the SQLite change poll stops once it was closed', () => {
  let asked = 0
  const poll = createChangePoll(async () => {
    asked++
    return []
  })
  poll.close()
  const states: boolean[] = []
  poll.watch(
    'models',
    () => undefined,
    (isConnected) => states.push(isConnected),
  )
  expect([asked, states]).toEqual([0, [false]])
})

it.each([
  ['the first change is', 0],
  ['all changes are', 1],
])(
  'the SQLite change poll reports that everything may have changed after a long suspension if %s old',
  async (_, daysAgo) => {
    const { heard, suspend } = await startProcess()
    const resume = suspend()
    change('first', 2)
    change('second', daysAgo)
    // A process deletes old changes when it starts.
    const other = await startProcess()
    resume()
    expect(await heard.next()).toBeUndefined()
    expect(await heard.next()).toBe('second')
    heard.end()
    other.heard.end()
  },
)
