import { randomUUID } from 'node:crypto'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { SqlDatabase } from '../sql/database.js'
import { createWatchers } from '../sql/watchers.js'
import type { PostgresClient, PostgresPool } from './pool.js'
import type { Queries } from './query.js'
import { within } from './within.js'

export interface Listener {
  readonly watch: SqlDatabase['watch']
  close(): Promise<void>
}

export interface ListenerParts {
  readonly pool: PostgresPool
  /** Sends on connections other than the listening one. */
  readonly queries: Queries
  /** Called once each time that changes can no longer be received, until they are received again. Must not throw. */
  readonly onLost: (why: string) => void
  /** Called when changes are received again after {@link onLost}. Must not throw. */
  readonly onRestored: (afterMs: number) => void
}

const PROOF_EVERY_MS = 1_000
const ANSWER_MS = 2_000
/** The most time between sending a notification and receiving it. */
const HEARING_MS = 1_000
/** How long no notification can be sent before the watch counts as lost. */
const UNPROVEN_MS = 10_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000
const ECHO = 'echo:'
const READ_ONLY_TRANSACTION = '25006'
const READ_ONLY = 'the server is read-only, so it is not the primary that others write to'

/**
 * Listens for `NOTIFY` on a separate connection while there are watches. The payload is `topic:id`.
 *
 * A connection that stays open does not prove that notifications arrive: a pooler may have given the session to another
 * client, and a former primary receives nothing from its successor. So the listener notifies itself every second,
 * through another connection of the pool, and the watches count as connected only while it receives that. When it
 * receives notifications again, everything is reported as changed, since some were missed.
 */
export function createListener({ pool, queries, onLost, onRestored }: ListenerParts): Listener {
  const channel = queries.schema
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
    /** When the loss was reported, by the monotonic clock. */
    let lostAt: number | undefined
    while (!signal.aborted) {
      try {
        const client = await connect(pool, signal)
        await hear(client, signal, () => {
          pauseMs = FIRST_PAUSE_MS
          watchers.changedAll()
          watchers.connected(true)
          if (lostAt !== undefined) onRestored(Math.round(performance.now() - lostAt))
          lostAt = undefined
        })
      } catch (error) {
        if (lostAt === undefined && !signal.aborted) {
          lostAt = performance.now()
          onLost(error instanceof Error ? error.message : String(error))
        }
      }
      watchers.connected(false)
      await pause(pauseMs, signal)
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  /** Returns when the connection is no longer needed. Throws if it receives nothing or is lost. */
  async function hear(client: PostgresClient, signal: AbortSignal, onHeard: () => void): Promise<void> {
    const lost = new AbortController()
    const fail = (error?: Error) => lost.abort(error ?? new Error('the connection has ended'))
    const leave = () => lost.abort()
    const answer = (query: Promise<unknown>) => within(ANSWER_MS, query, 'PostgreSQL did not answer')
    let echo: Echo | undefined
    const notified = (message: { channel: string; payload?: string | undefined }) => {
      const { payload = '' } = message
      const colon = payload.indexOf(':')
      if (message.channel !== channel || colon <= 0) return
      if (payload === echo?.payload) echo.hear()
      else if (!payload.startsWith(ECHO)) watchers.changed(payload.slice(0, colon), payload.slice(colon + 1))
    }
    client.on('error', fail)
    client.on('end', fail)
    client.on('notification', notified)
    signal.addEventListener('abort', leave)
    // The watch may have ended in the turn in which the connection was opened.
    if (signal.aborted) leave()
    try {
      await answer(client.query({ text: `listen "${channel}"` }))
      let heardAt: number | undefined
      while (!lost.signal.aborted) {
        echo = new Echo()
        const isHeard = await prove(echo, lost.signal)
        if (lost.signal.aborted) break
        if (isHeard) {
          if (heardAt === undefined) onHeard()
          heardAt = performance.now()
        } else if (heardAt === undefined || performance.now() - heardAt > UNPROVEN_MS) {
          throw new Error('no notification could be sent to test the connection')
        }
        await pause(PROOF_EVERY_MS, lost.signal)
        if (!lost.signal.aborted) await answer(client.query({ text: 'select 1' }))
      }
    } finally {
      signal.removeEventListener('abort', leave)
      client.removeListener('notification', notified)
      client.removeListener('end', fail)
      // The connection still listens, so it is not returned to the pool. Its errors stay handled until it is closed.
      client.release(true)
    }
    if (!signal.aborted) throw lost.signal.reason
  }

  /**
   * Returns `true` if the notification was received, and `false` if it could not be sent. Throws if it was not
   * received.
   */
  async function prove(echo: Echo, signal: AbortSignal): Promise<boolean> {
    let isReadOnly: boolean
    try {
      isReadOnly = await within(ANSWER_MS, send(echo.payload), 'PostgreSQL did not answer')
    } catch (error) {
      if ((error as { code?: unknown }).code === READ_ONLY_TRANSACTION) throw new Error(READ_ONLY)
      return false
    }
    if (isReadOnly) throw new Error(READ_ONLY)
    await Promise.race([echo.isHeard, pause(HEARING_MS, signal)])
    // If the process was busy, the time may have passed although the notification has arrived. It is read in this turn.
    if (!echo.wasHeard) await setImmediate()
    if (echo.wasHeard || signal.aborted) return echo.wasHeard
    throw new Error(
      'a notification was sent but not received: is there another server behind the address, or a pooler in transaction mode? Behind one, give postgresStores a `listenPool` that reaches the server directly',
    )
  }

  /** Returns whether the server that got the notification is read-only. */
  async function send(payload: string): Promise<boolean> {
    const [row] = await queries.run({
      text: `select pg_notify(?1, ?2), current_setting('transaction_read_only') as read_only`,
      parameters: [channel, payload],
    })
    return row?.read_only === 'on'
  }

  return {
    watch: watchers.watch,
    async close() {
      watchers.close()
      await ended
    },
  }
}

/** A notification that a listener sends to itself. */
class Echo {
  readonly payload = `${ECHO}${randomUUID()}`
  wasHeard = false
  hear!: () => void
  readonly isHeard = new Promise<void>((resolve) => {
    this.hear = () => {
      this.wasHeard = true
      resolve()
    }
  })
}

/** Stops waiting for a connection that is no longer needed, and releases it when it arrives. */
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
