import { EventEmitter } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { createListener } from '../../src/postgres/listener.js'
import type { PostgresClient } from '../../src/postgres/pool.js'
import type { Queries } from '../../src/postgres/query.js'

const CHANNEL = 'compat_router'
/** How long the listener waits for its own notification. */
const HEARING_MS = 1_000
const BUSY_MS = HEARING_MS + 100

/** A connection that answers everything at once, and counts how often it is released. */
class Client extends EventEmitter implements PostgresClient {
  released = 0
  async query() {
    return { rows: [] }
  }
  release() {
    this.released++
  }
}

function createFakeQueries(notify: (payload: string) => void): Queries {
  return {
    schema: CHANNEL,
    run: async ({ parameters = [] }) => {
      notify(String(parameters[1]))
      return [{ read_only: 'off' }]
    },
    transaction: () => Promise.reject(new Error('never called')),
  }
}

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until) {}
}

it('the PostgreSQL listener hears a notification that arrives while the process is busy', async () => {
  const client = new Client()
  const lost: string[] = []
  const queries = createFakeQueries((payload) => {
    setTimeout(() => block(BUSY_MS), 10)
    // Runs with the timer of the listener, and reads the notification after it, as a socket would be read.
    setTimeout(() => {
      setImmediate(() => client.emit('notification', { channel: CHANNEL, payload }))
    }, HEARING_MS)
  })
  const listener = createListener({
    pool: { connect: async () => client },
    queries,
    onLost: (why) => lost.push(why),
    onRestored: () => undefined,
  })
  onTestFinished(() => listener.close())
  const isConnected = new Promise<void>((resolve) => {
    listener.watch(
      'credentials',
      () => undefined,
      (connected) => connected && resolve(),
    )
  })
  await isConnected
  expect(lost).toEqual([])
})

it.each(Array.from({ length: 12 }, (_, turns) => turns))(
  'the PostgreSQL listener closes if its watch ends %i microtasks after it asked for a connection',
  async (turns) => {
    const client = new Client()
    let end = () => {}
    async function endAfter(): Promise<void> {
      for (let turn = 0; turn < turns; turn++) await undefined
      end()
    }
    let hasEnded = () => {}
    const ended = new Promise<void>((resolve) => {
      hasEnded = resolve
    })
    const listener = createListener({
      pool: {
        async connect() {
          void endAfter().then(hasEnded)
          return client
        },
      },
      queries: createFakeQueries((payload) => client.emit('notification', { channel: CHANNEL, payload })),
      onLost: () => undefined,
      onRestored: () => undefined,
    })
    end = listener.watch('credentials', () => undefined)
    await ended
    await listener.close()
    await expect.poll(() => client.released).toBe(1)
    expect(client.listenerCount('notification')).toBe(0)
  },
)
