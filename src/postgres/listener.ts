import { setTimeout } from 'node:timers/promises'
import type { SqlDatabase } from '../sql/database.js'
import { createWatchers } from '../sql/watchers.js'
import type { PostgresClient, PostgresPool } from './pool.js'
import { within } from './within.js'

export interface Listener {
  readonly watch: SqlDatabase['watch']
  close(): Promise<void>
}

const HEARTBEAT_MS = 2_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

/**
 * Hears `NOTIFY` on a connection of its own while somebody watches. The payload is `topic:id`. When the connection is
 * lost, which a question every two seconds finds out, watchers are told so; when there is a new one, that everything may
 * have changed, since what was said meanwhile is gone.
 */
export function createListener(pool: PostgresPool, channel: string): Listener {
  const watchers = createWatchers({ first: start, last: stop })
  let session: AbortController | undefined
  let ended: Promise<void> = Promise.resolve()

  function start(): void {
    const own = new AbortController()
    session = own
    ended = ended.then(() => listen(own.signal))
  }

  function stop(): void {
    session?.abort()
    session = undefined
  }

  async function listen(signal: AbortSignal): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    while (!signal.aborted) {
      try {
        const client = await connect(pool, signal)
        await hear(client, signal, () => {
          pauseMs = FIRST_PAUSE_MS
        })
      } catch {
        // Told to the watchers as a lost connection; the reason is the pool's to report.
      }
      watchers.connected(false)
      await pause(pauseMs, signal)
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  /** Fulfilled or rejected when the connection is lost or no longer wanted. */
  async function hear(client: PostgresClient, signal: AbortSignal, onListening: () => void): Promise<void> {
    const lost = new AbortController()
    const lose = () => lost.abort()
    const answer = (query: Promise<unknown>) => within(HEARTBEAT_MS, query, 'PostgreSQL did not answer')
    const notified = (message: { channel: string; payload?: string | undefined }) => {
      const { payload = '' } = message
      const colon = payload.indexOf(':')
      if (message.channel === channel && colon > 0) {
        watchers.changed(payload.slice(0, colon), payload.slice(colon + 1))
      }
    }
    client.on('error', lose)
    client.on('end', lose)
    client.on('notification', notified)
    signal.addEventListener('abort', lose)
    try {
      await answer(client.query({ text: `listen "${channel}"` }))
      onListening()
      watchers.changedAll()
      watchers.connected(true)
      while (!lost.signal.aborted) {
        await pause(HEARTBEAT_MS, lost.signal)
        if (!lost.signal.aborted) await answer(client.query({ text: 'select 1' }))
      }
    } finally {
      signal.removeEventListener('abort', lose)
      client.removeListener('notification', notified)
      client.removeListener('end', lose)
      // The connection still listens, so it does not go back to the pool. Its errors stay handled until it is gone.
      client.release(true)
    }
  }

  return {
    watch: watchers.watch,
    async close() {
      watchers.close()
      await ended
    },
  }
}

/** Does not wait for a connection that is no longer wanted; it goes back when it comes. */
async function connect(pool: PostgresPool, signal: AbortSignal): Promise<PostgresClient> {
  const connecting = pool.connect()
  let giveUp: () => void = () => undefined
  const unwanted = new Promise<undefined>((resolve) => {
    giveUp = () => resolve(undefined)
  })
  signal.addEventListener('abort', giveUp)
  try {
    const client = await Promise.race([connecting, unwanted])
    if (client !== undefined && !signal.aborted) return client
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
  connecting.then(
    (late) => late.release(),
    () => undefined,
  )
  throw new Error('The watch has ended')
}

/** Waits so long, or until the signal aborts. Keeps no process alive. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { ref: false, signal }).catch(() => undefined)
}
