import { type Cell, nameTables, type Parameter, type Row, type Statement } from '../sql/database.js'
import { type Gate, OPEN_GATE } from './gate.js'
import type { PostgresClient, PostgresNotice, PostgresPool } from './pool.js'
import { within } from './within.js'

/** Runs statements on connections of the pool, each with a timeout. */
export interface Queries {
  readonly schema: string
  run(statement: Statement): Promise<readonly Row[]>
  /** @param answerMs the most that the whole transaction and each of its statements may take; 15 s by default */
  transaction<Result>(body: (run: Queries['run']) => Promise<Result>, answerMs?: number): Promise<Result>
}

const ANSWER_MS = 15_000
const REPORT_MS = 600_000
const MAX_TRIES = 5
/** How long a process that is suspended within a transaction keeps its locks. */
const IDLE_MS = 5_000
/**
 * One message. It overrides the settings of the host's sessions: `read committed`, since a statement must see the commits
 * during the previous statement's wait for a lock, and the wait for the disk, as the ledger's functions do.
 */
const begin = (answerMs: number, settings = ''): string => `begin isolation level read committed;
  set local statement_timeout = ${answerMs};${settings}
  set local idle_in_transaction_session_timeout = ${IDLE_MS};
  select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`
/**
 * A report joins many parts, and while the planner guesses the sizes of new tables, the server would compile them all: a report
 * by day took 62 ms instead of 17, and one by key 1.1 s instead of 0.5, with 300,000 charges.
 */
const REPORT_SETTINGS = '\n  set local jit = off;'
/** The SQLSTATE of an outcome that nobody knows. The ledger repeats such a batch, and a repeat waits for the standby too. */
const UNKNOWN_OUTCOME = '08007'
/** The function of the server that warns if it stops waiting for a synchronous standby. The warning's text is translated. */
const WAIT_FOR_STANDBY = 'SyncRepWaitForLSN'
const PARAMETER_PATTERN = /\?(\d+)/g
const RAW_TYPES = { getTypeParser: () => (text: string) => text }

/** `gate` limits how many connections statements use at once. Reports, which use one, bypass it. */
export function createQueries(pool: PostgresPool, schema: string, gate: Gate = OPEN_GATE): Queries {
  const texts = new Map<string, string>()

  function toText(text: string): string {
    let known = texts.get(text)
    if (known === undefined) {
      known = nameTables(text, (name) => `"${schema}".${name}`).replace(PARAMETER_PATTERN, '$$$1')
      texts.set(text, known)
    }
    return known
  }

  async function query(
    client: PostgresClient,
    { text, parameters = [] }: Statement,
  ): Promise<readonly Row[]> {
    const { rows } = await client.query({
      text: toText(text),
      values: parameters.map(toValue),
      types: RAW_TYPES,
    })
    return rows as Readonly<Record<string, Cell>>[]
  }

  /** Returns a connection, and a function to call once it has been released. */
  async function connect(through: Gate): Promise<{ client: PostgresClient; leave: () => void }> {
    const leave = await through.enter()
    try {
      return { client: await pool.connect(), leave }
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Discards a connection that failed or whose state is unknown. */
  async function withClient<Result>(
    body: (client: PostgresClient) => Promise<Result>,
    { through, answerMs } = { through: gate, answerMs: ANSWER_MS },
  ): Promise<Result> {
    const connecting = connect(through)
    const { client, leave } = await within(ANSWER_MS, connecting, 'The pool gave no connection', (late) => {
      late.client.release()
      late.leave()
    })
    const ignore = () => undefined
    let isReplicated = true
    const hearWarning = ({ routine }: PostgresNotice) => {
      if (routine === WAIT_FOR_STANDBY) isReplicated = false
    }
    client.on('error', ignore)
    client.on('notice', hearWarning)
    try {
      const result = await within(answerMs, body(client), 'PostgreSQL did not answer')
      if (!isReplicated) throw unreplicated()
      client.removeListener('error', ignore)
      client.release()
      return result
    } catch (error) {
      const isSound = keepsConnection(error)
      // A discarded connection may still fail while it closes, and nobody else listens then.
      if (isSound) client.removeListener('error', ignore)
      client.release(!isSound)
      throw error
    } finally {
      client.removeListener('notice', hearWarning)
      leave()
    }
  }

  function transact<Result>(
    body: (run: Queries['run']) => Promise<Result>,
    { through, answerMs, settings }: { through: Gate; answerMs: number; settings?: string },
  ): Promise<Result> {
    return withRetries(() =>
      withClient(
        async (client) => {
          await query(client, { text: begin(answerMs, settings) })
          try {
            const result = await body((statement) => query(client, statement))
            await query(client, { text: 'commit' })
            return result
          } catch (error) {
            if (keepsConnection(error)) await query(client, { text: 'rollback' })
            throw error
          }
        },
        { through, answerMs },
      ),
    )
  }

  /** Reports run one at a time: each may take minutes, and together they would take the ledger's connections. */
  let lastReport: Promise<unknown> = Promise.resolve()
  function report(statement: Statement): Promise<readonly Row[]> {
    const asking = { through: OPEN_GATE, answerMs: REPORT_MS, settings: REPORT_SETTINGS }
    const answer = lastReport.then(() => transact((run) => run(statement), asking))
    lastReport = answer.catch(() => undefined)
    return answer
  }

  return {
    schema,
    run: (statement) =>
      statement.isReport ? report(statement) : withClient((client) => query(client, statement)),
    transaction: (body, answerMs = ANSWER_MS) => transact(body, { through: gate, answerMs }),
  }
}

/** A transaction that lost a deadlock had no effect and may be retried. */
async function withRetries<Result>(body: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await body()
    } catch (error) {
      if (tries === MAX_TRIES || !/^40/.test(String((error as { code?: unknown }).code))) throw error
    }
  }
}

/** A commit that is on the primary's disk, but that a failover may lose. */
function unreplicated(): Error {
  const message =
    'PostgreSQL was told to stop waiting for its synchronous standby, so a failover may lose this commit'
  return Object.assign(new Error(message), { code: UNKNOWN_OUTCOME })
}

function toValue(parameter: Parameter): string | null {
  return parameter === null ? null : String(parameter)
}

/** Returns whether the error is the statement's, so that the connection can be used again. */
function keepsConnection(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^(2[23]|54|42|40|P0|55|0A)/.test(code) && code.length === 5
}
