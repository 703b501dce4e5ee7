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
 * Listens for `NOTIFY` on a connection of its own while there are watches. The payload is `topic:id`. A query every two
 * seconds detects a lost connection, which is reported to the watchers. On a new connection, everything is reported as
 * changed, since notifications were missed.
 */
export function createListener(pool: PostgresPool, channel: string): Listener {
  const watchers = createWatchers({ first: start, last: stop })
  let session: AbortController | undefined
  let ended: Promise<void> = Promise.resolve()

  function start(): void {
    const started = new AbortController()
    session = started
    ended = ended.then(() => listen(started.signal))
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
        // Reported to the watchers as a lost connection. The pool reports the reason.
      }
      watchers.connected(false)
      await pause(pauseMs, signal)
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  /** Settles when the connection is lost or no longer wanted. */
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
      // The connection still listens, so it is not returned to the pool. Its errors stay handled until it is closed.
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

/** Does not wait for a connection that is no longer wanted. It is released when it arrives. */
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

/** Waits until the time is over or the signal aborts. Does not keep the process alive. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { ref: false, signal }).catch(() => undefined)
}
