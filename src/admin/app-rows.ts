import { z } from 'zod'
import { present } from '../base/present.js'
import type { Actor, AppLogoReference } from '../contracts/index.js'
import { idSchema, idsSchema, nameSchema, parseInput, rowsSchema, whose } from '../rules/schemas.js'
import {
  readJson,
  readNumber,
  readOptionalJson,
  readOptionalNumber,
  readOptionalText,
  readText,
} from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import { type AppDefinition, readLogoReference } from '../sql/connect-apps.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { cutPage } from '../sql/large-pages.js'
import { type AppRequest, isConnectable } from './app-input.js'
import { appNameKey } from './app-names.js'

/** An app as it is in force. */
export interface AppRow extends AppRequest {
  readonly logo?: AppLogoReference
  readonly suspendedAt?: number
}

export interface AppsQuery {
  readonly appIds?: readonly string[]
  /** Selects only apps that this account may edit. */
  readonly owner?: string
  readonly after?: string
  /** From 1 to 1,000. By default 100, or as many as `appIds`. */
  readonly limit?: number
}

const DEFAULT_ROWS = 100
const MAX_ROWS = 1_000

/** A page of apps, or of rows that belong to an app, in the order of app ids. */
export const appPageSchema = z.strictObject({
  appIds: whose(idsSchema),
  after: idSchema.optional(),
  limit: rowsSchema.max(MAX_ROWS).optional(),
})

/** Returns the maximum number of rows on a page: by default the number of requested ids. */
export function rowsOf({ appIds, limit }: z.infer<typeof appPageSchema>): bigint {
  return BigInt(limit ?? appIds?.length ?? DEFAULT_ROWS)
}

const appsSchema = appPageSchema.extend({ owner: whose(nameSchema) })

/** Values that the owner of a live app wants to change, waiting for an operator's decision. */
export interface AppReview {
  readonly appId: string
  /** The account that requested the review. */
  readonly by: string
  readonly at: number
  readonly values: ReviewedValues
}

/** `null` removes the value. */
export interface ReviewedValues {
  readonly name?: string
  readonly redirectUris?: readonly string[]
  readonly site?: string | null
  /** The hash of the logo. */
  readonly logo?: string | null
  /** Set if the app is to become live. */
  readonly live?: true
}

/** A change of an app. */
export interface AppEdit {
  readonly appId: string
  readonly at: number
  /** The account that made it, or `operator`. */
  readonly by: string
  /** Distinguishes an account named `operator` from an operator. */
  readonly byKind: Actor['kind']
  readonly kind: AppEditKind
  /** The names of the fields that changed. Absent for changes of the whole app. */
  readonly fields?: readonly string[]
}

export type AppEditKind =
  | 'put'
  | 'review-asked'
  | 'review-accepted'
  | 'review-rejected'
  | 'suspended'
  | 'resumed'
  | 'removed'

/** Returns a page of apps in the order of their ids. */
export async function listAppRows(database: SqlDatabase, query: AppsQuery): Promise<readonly Row[]> {
  const asked = parseInput(appsSchema, query, 'apps')
  const { after, appIds, owner } = asked
  const { parameters, add, addEqual, addOneOf, where } = createConditions()
  if (appIds !== undefined) addOneOf('p.id', appIds)
  addEqual({ 'p.owner': owner })
  if (after !== undefined) add((value) => `p.id > ${value}`, after)
  parameters.push(rowsOf(asked))
  const page = `select p.id, length(p.definition) as size from {apps} p ${where()} order by p.id limit ?${parameters.length}`
  return database.all({
    text: `select p.*, l.type as logo_type from {apps} p
      left join {app_logos} l on l.app_id = p.id and l.hash = p.logo_hash
      where p.id in (${appIds === undefined ? cutPage(page, 'asc') : `select id from (${page}) asked`}) order by p.id`,
    parameters,
  })
}

export function readAppRow(row: Row): AppRow {
  return {
    ...readJson<AppDefinition>(row, 'definition'),
    ...(readText(row, 'state') === 'test' && { state: 'test' }),
    ...present({
      owner: readOptionalText(row, 'owner'),
      logo: readLogoReference(row),
      suspendedAt: readOptionalNumber(row, 'suspended_at'),
    }),
  }
}

/** Whether an account may have tokens of an app. An app in test mode is only for its owner and its testers. */
export function mayUse({ owner, state, testers = [] }: AppRow, account: string): boolean {
  return state !== 'test' || owner === account || testers.includes(account)
}

/** SQL for the time of a suspension that belongs to an id even while no app has it: removing the app must not end it. */
export function suspensionOf(id: string): string {
  return `(select case when s.kind = 'suspended' then s.at end from {app_edits} s
    where s.app_id = ${id} and s.kind in ('suspended', 'resumed') order by s.id desc limit 1)`
}

/** Returns the values of an app as a put accepts them. */
export function toRequest({ logo, suspendedAt, ...request }: AppRow): AppRequest {
  return request
}

export function readReview(row: Row): AppReview {
  return {
    appId: readText(row, 'app_id'),
    by: readText(row, 'done_by'),
    at: readNumber(row, 'at'),
    values: readJson<ReviewedValues>(row, 'definition'),
  }
}

export function readEdit(row: Row): AppEdit {
  return {
    appId: readText(row, 'app_id'),
    at: readNumber(row, 'at'),
    by: readText(row, 'done_by'),
    byKind: readText(row, 'done_as') as Actor['kind'],
    kind: readText(row, 'kind') as AppEditKind,
    ...present({ fields: readOptionalJson<string[]>(row, 'fields') }),
  }
}

/** Returns the cells of an app: its definition, owner, state and the key of its name, which only connectable apps have. */
export function toAppCells({
  owner,
  state,
  ...definition
}: AppRequest): readonly [
  definition: string,
  owner: string | null,
  state: 'test' | 'live',
  nameKey: string | null,
] {
  const nameKey = isConnectable(definition) ? appNameKey(definition.name!) : null
  return [JSON.stringify(definition), owner ?? null, state ?? 'live', nameKey]
}

/** Returns the names of the fields in which two apps differ, in alphabetical order. */
export function changedFields(before: object, after: object): readonly string[] {
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>]
  const names = new Set([...Object.keys(old), ...Object.keys(now)])
  return [...names].sort().filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
}

/** The statement that appends to the history of each app that a query returns as `id`. */
export function appendEdit(
  database: SqlDatabase,
  edit: {
    readonly id: string
    readonly by: Actor
    readonly kind: AppEditKind
    readonly fields?: readonly string[]
  },
  { text, parameters = [] }: Statement,
): Statement {
  const [id, by, as, kind, fields] = [1, 2, 3, 4, 5].map((index) => `?${parameters.length + index}`)
  return {
    text: `insert into {app_edits} (id, app_id, at, done_by, done_as, kind, fields)
      select ${id}, id, ${database.now}, ${by}, ${as}, ${kind}, ${fields} from (${text}) changed where true`,
    parameters: [
      ...parameters,
      edit.id,
      edit.by.name,
      edit.by.kind,
      edit.kind,
      edit.fields === undefined ? null : JSON.stringify(edit.fields),
    ],
  }
}
