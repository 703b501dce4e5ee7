import { z } from 'zod'
import { present } from '../base/present.js'
import type { Actor } from '../contracts/index.js'
import { idSchema, nameSchema, parseInput, rowsSchema, whose } from '../rules/schemas.js'
import type { AuditNoun } from '../sql/audit.js'
import { readNumber, readOptionalJson, readOptionalText, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Row, SqlDatabase } from '../sql/database.js'

/** A change that somebody made. */
export interface AuditRow {
  readonly id: string
  readonly at: number
  /** The name of an operator, or the account of a user. */
  readonly by: string
  readonly byKind: Actor['kind']
  /** What was changed. `credential` is an API key or an access token, and `entry` a posting of credits. */
  readonly noun: AuditNoun | 'app'
  /** The id of what was changed. */
  readonly subjectId: string
  /** A verb in the past tense, such as `issued`, or `put` for a value that was added or replaced. */
  readonly kind: string
  /** The account that the change concerns. */
  readonly account?: string
  /** The values that were set. Of a replaced model or route, its changed fields `before` and `after`. Never a secret. */
  readonly details?: Readonly<Record<string, unknown>>
}

export interface AuditQuery {
  /** Selects only changes by this operator or account. */
  readonly by?: string
  readonly noun?: AuditRow['noun']
  readonly subjectId?: string
  /** Selects only changes that concern this account. */
  readonly account?: string
  /** At or after this time, in milliseconds since the Unix epoch. */
  readonly from?: number
  /** Before this time. */
  readonly to?: number
  readonly after?: string
  /** 100 by default, at most 1,000. */
  readonly limit?: number
}

export interface AuditAdmin {
  /**
   * Lists who changed money, keys, limits, routes, models and apps, newest first. For the next page, pass the last id as
   * `after`. Each row was written in the transaction of its change. Connected apps have a history of their own:
   * `connectedApps.listHistory`.
   */
  list(query?: AuditQuery): Promise<readonly AuditRow[]>
}

const DEFAULT_ROWS = 100
const MAX_ROWS = 1_000

export const AUDIT_NOUNS = ['account', 'credential', 'app', 'model', 'route', 'limit', 'entry'] as const

const querySchema = z.strictObject({
  by: whose(nameSchema),
  noun: z.enum(AUDIT_NOUNS).optional(),
  subjectId: whose(idSchema),
  account: whose(idSchema),
  from: z.number().optional(),
  to: z.number().optional(),
  after: idSchema.optional(),
  limit: rowsSchema.max(MAX_ROWS).optional(),
})

type Query = z.infer<typeof querySchema>

export function createAuditAdmin(database: SqlDatabase): AuditAdmin {
  /** Reads the newest rows of a table. `subject` is the column of the id of what was changed. */
  async function read(table: string, subject: string, query: Query, limit: number): Promise<readonly Row[]> {
    const { parameters, add, addEqual, where } = createConditions()
    const { by, subjectId, from, to, after } = query
    addEqual({ done_by: by, [subject]: subjectId })
    if (table === '{audit}') addEqual({ noun: query.noun, account: query.account })
    if (from !== undefined) add((value) => `at >= ${value}`, BigInt(Math.ceil(from)))
    if (to !== undefined) add((value) => `at < ${value}`, BigInt(Math.ceil(to)))
    if (after !== undefined) add((value) => `id < ${value}`, after)
    parameters.push(BigInt(limit))
    return database.all({
      text: `select * from ${table} ${where()} order by id desc limit ?${parameters.length}`,
      parameters,
    })
  }

  return {
    async list(given = {}) {
      const query = parseInput(querySchema, given, 'audit')
      const { noun, account, limit = DEFAULT_ROWS } = query
      const changes =
        noun === 'app' ? [] : (await read('{audit}', 'subject_id', query, limit)).map(readChange)
      const edits =
        (noun ?? 'app') !== 'app' || account !== undefined
          ? []
          : (await read('{app_edits}', 'app_id', query, limit)).map(readEdit)
      return [...changes, ...edits].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit)
    },
  }
}

function readChange(row: Row): AuditRow {
  return {
    ...readCommon(row),
    noun: readText(row, 'noun') as AuditNoun,
    subjectId: readText(row, 'subject_id'),
    ...present({
      account: readOptionalText(row, 'account'),
      details: readOptionalJson<Record<string, unknown>>(row, 'details'),
    }),
  }
}

function readEdit(row: Row): AuditRow {
  const fields = readOptionalJson<readonly string[]>(row, 'fields')
  return {
    ...readCommon(row),
    noun: 'app',
    subjectId: readText(row, 'app_id'),
    ...(fields !== undefined && { details: { fields } }),
  }
}

function readCommon(row: Row): Pick<AuditRow, 'id' | 'at' | 'by' | 'byKind' | 'kind'> {
  return {
    id: readText(row, 'id'),
    at: readNumber(row, 'at'),
    by: readText(row, 'done_by'),
    byKind: readText(row, 'done_as') as Actor['kind'],
    kind: readText(row, 'kind'),
  }
}
