import { z } from 'zod'
import { invalidInput } from '../base/invalid-input.js'
import { Refusal } from '../base/refusal.js'
import type { Actor, AppLogo } from '../contracts/index.js'
import { idSchema, parseField, parseInput, rowsSchema } from '../rules/schemas.js'
import { readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import { readLogo } from '../sql/connect-apps.js'
import { lockApp } from '../sql/connected-apps.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import {
  APP_NAME,
  type AppRequest,
  type AppRules,
  isConnectable,
  isReserved,
  readAppRequest,
} from './app-input.js'
import { readAppLogo } from './app-logos.js'
import { appNameKey, appNameKeys, appNameWords } from './app-names.js'
import {
  type AppEdit,
  type AppEditKind,
  type AppRow,
  type AppsQuery,
  appendEdit,
  changedFields,
  listAppRows,
  readAppRow,
  readEdit,
  suspensionOf,
  toAppCells,
} from './app-rows.js'
import { checkPutOptions, compareAndPut, type PutOptions } from './compare-and-put.js'

export interface AppsAdmin {
  /**
   * Registers an app, or replaces the whole app with this id, even for its existing tokens. Users pay no more than the
   * markup that they agreed to. A suspended app stays suspended, and its logo stays. Returns whether it was stored,
   * like `models.put`. Rejects if users could mistake its name for another app's.
   */
  put(app: AppRequest, options?: PutOptions<AppRow>): Promise<boolean>
  /** Sets or removes an app's logo: a PNG, JPEG or WebP picture of at most 32 KiB and 512 pixels. Returns whether the app exists. */
  putLogo(id: string, logo: Uint8Array | null): Promise<boolean>
  /** Returns an app's logo, even one that waits for review. */
  findLogo(id: string, hash: string): Promise<AppLogo | undefined>
  /** Refuses every token of the app until {@link resume}. Returns whether the app exists. */
  suspend(id: string): Promise<boolean>
  /** Returns whether the app exists. */
  resume(id: string): Promise<boolean>
  /** Removes an app after disconnecting it from all accounts and revoking its tokens, in one transaction. Returns whether the app existed. */
  remove(id: string): Promise<boolean>
  /**
   * Lists apps by id. For the next page, pass the last id as `after`. A page may have fewer rows than `limit` if these
   * are large. Only an empty page is the end.
   */
  list(query?: AppsQuery): Promise<readonly AppRow[]>
  /** Lists the changes of an app, newest first. 100 by default. */
  listEdits(query: { readonly appId: string; readonly limit?: number }): Promise<readonly AppEdit[]>
}

const EDITS = 100

const editsSchema = z.strictObject({ appId: idSchema, limit: rowsSchema.optional() })

export function createAppsAdmin(
  database: SqlDatabase,
  rules: AppRules,
  newId: () => string,
  by: Actor,
): AppsAdmin {
  /** Runs a change of one app, which returns its id, and appends it to the app's history if it changed anything. */
  async function changes(id: string, kind: AppEditKind, statements: readonly Statement[]): Promise<boolean> {
    const results = await database.batch([
      ...statements,
      appendEdit(
        database,
        { id: newId(), by, kind },
        { text: 'select id from {apps} where id = ?1', parameters: [id] },
      ),
      database.change('credentials'),
    ])
    return results[0]!.length > 0
  }

  async function write(app: AppRequest, row: Row | undefined): Promise<boolean> {
    const cells = toAppCells(app)
    const before = row === undefined ? {} : readAppRow(row)
    const parameters = [app.id, ...cells]
    const statement: Statement =
      row === undefined
        ? {
            text: `insert into {apps} (id, definition, owner, state, name_key, suspended_at, created_at)
              values (?1, ?2, ?3, ?4, ?5, ${suspensionOf('?1')}, ${database.now})
              on conflict (id) do nothing returning id`,
            parameters,
          }
        : {
            text: `update {apps} set definition = ?2, owner = ?3, state = ?4, name_key = ?5
              where id = ?1 and definition = ?6 and coalesce(owner, '') = ?7 and state = ?8 returning id`,
            parameters: [...parameters, readText(row, 'definition'), row.owner ?? '', row.state!],
          }
    const [rows] = await database.batch([
      statement,
      ...(row === undefined ? [] : pinTokens(row, app, cells[0])),
      appendEdit(
        database,
        { id: newId(), by, kind: 'put', fields: changedFields(before, app) },
        { text: 'select id from {apps} where id = ?1 and definition = ?2', parameters: [app.id, cells[0]] },
      ),
      database.change('credentials'),
    ])
    return rows!.length > 0
  }

  return {
    async put(app, options = {}) {
      const read = readAppRequest(app, rules)
      const checked = checkPutOptions(options, 'apps.put')
      return compareAndPut(checked, {
        find: async () => (await listAppRows(database, { appIds: [read.id] }))[0],
        show: readAppRow,
        write: async (row) => withFreeName(database, rules, read, async () => write(read, row)),
      })
    },

    async putLogo(id, bytes) {
      parseField(idSchema, id, 'id', 'app')
      const logo = bytes === null ? undefined : readAppLogo(bytes)
      return changes(id, 'put', [
        {
          text: 'update {apps} set logo_hash = ?2 where id = ?1 returning id',
          parameters: [id, logo?.hash ?? null],
        },
        ...(logo === undefined ? [] : [insertLogo(id, logo)]),
        deleteOldLogos(id),
      ])
    },

    async findLogo(id, hash) {
      const [row] = await database.all({
        text: 'select type, bytes from {app_logos} where app_id = ?1 and hash = ?2',
        parameters: [parseField(idSchema, id, 'id', 'app'), parseField(idSchema, hash, 'hash')],
      })
      return row === undefined ? undefined : readLogo(row, hash)
    },

    suspend: async (id) =>
      changes(parseField(idSchema, id, 'id', 'app'), 'suspended', [
        {
          text: `update {apps} set suspended_at = coalesce(suspended_at, ${database.now}) where id = ?1 returning id`,
          parameters: [id],
        },
      ]),
    resume: async (id) =>
      changes(parseField(idSchema, id, 'id', 'app'), 'resumed', [
        { text: 'update {apps} set suspended_at = null where id = ?1 returning id', parameters: [id] },
      ]),

    remove: async (id) => removeApp(database, newId(), parseField(idSchema, id, 'id', 'app'), by),

    list: async (query = {}) => (await listAppRows(database, query)).map(readAppRow),

    async listEdits(query) {
      const { appId, limit = EDITS } = parseInput(editsSchema, query, 'edits')
      const rows = await database.all({
        text: 'select * from {app_edits} where app_id = ?1 order by id desc limit ?2',
        parameters: [appId, BigInt(limit)],
      })
      return rows.map(readEdit)
    },
  }
}

/** Fixes the terms of an app's existing tokens when it gets an owner, who must not change what users agreed to. */
function pinTokens(row: Row, app: AppRequest, definition: string): readonly Statement[] {
  const { allowedModels: models, markup, owner } = readAppRow(row)
  if (owner !== undefined || app.owner === undefined) return []
  return [
    {
      text: `update {credentials} set terms = ?2
        where app_id = ?1 and source = 'operator' and terms is null
          and exists (select 1 from {apps} p where p.id = ?1 and p.definition = ?3 and p.owner = ?4)`,
      parameters: [app.id, JSON.stringify({ models, markup }), definition, app.owner],
    },
  ]
}

/**
 * Runs a change of an app. Rejects if users could mistake its name for another app's. If another app gets the name
 * concurrently, the change fails because the name's key is unique.
 */
export async function withFreeName<Result>(
  database: SqlDatabase,
  rules: AppRules,
  app: NamedApp,
  change: () => Promise<Result>,
): Promise<Result> {
  await requireFreeName(database, rules, app)
  try {
    return await change()
  } catch (error) {
    await requireFreeName(database, rules, app)
    throw error
  }
}

type NamedApp = Pick<AppRequest, 'id' | 'name' | 'redirectUris' | 'owner'>

async function requireFreeName(database: SqlDatabase, rules: AppRules, app: NamedApp): Promise<void> {
  if (!isConnectable(app)) return
  const wholes = appNameKeys(app.name!)
  const words = appNameWords(app.name!)
  const { parameters, add, addOneOf, where } = createConditions()
  add((value) => `id <> ${value}`, app.id)
  addOneOf('name_key', [...wholes, ...words])
  const [[own], others] = await Promise.all([
    database.all({ text: 'select name_key from {apps} where id = ?1', parameters: [app.id] }),
    database.all({ text: `select name_key, owner, state from {apps} ${where()}`, parameters }),
  ])
  if (others.some((row) => wholes.has(readText(row, 'name_key')))) {
    throw new Refusal('conflict', 'looks like the name of another app, so users could mistake it', APP_NAME)
  }
  // An app keeps a name that it had before another app, or before the host reserved it.
  if (own?.name_key === appNameKey(app.name!)) return
  if (isReserved(words, rules)) {
    throw invalidInput(APP_NAME, 'has a reserved name in it, or one that looks like it')
  }
  // An unreviewed name does not reserve its words, and an owner may give similar names to several apps.
  if (others.some(({ owner, state }) => state === 'live' && (owner ?? undefined) !== app.owner)) {
    throw new Refusal(
      'conflict',
      'has the name of another app in it, or one that looks like it, so users could mistake it',
      APP_NAME,
    )
  }
}

export function insertLogo(appId: string, { hash, type, bytes }: AppLogo): Statement {
  return {
    text: `insert into {app_logos} (app_id, hash, type, bytes) select id, ?2, ?3, ?4 from {apps} where id = ?1
      on conflict (app_id, hash) do nothing`,
    parameters: [appId, hash, type, Buffer.from(bytes).toString('base64')],
  }
}

/** Deletes the logos of an app that are neither in use nor waiting for review. */
export function deleteOldLogos(appId: string): Statement {
  return {
    text: `delete from {app_logos} where app_id = ?1
      and not exists (select 1 from {apps} p where p.id = ?1 and p.logo_hash = {app_logos}.hash)
      and not exists (
        select 1 from {app_reviews} r
        where r.app_id = ?1 and replace(r.definition, {app_logos}.hash, '') <> r.definition
      )`,
    parameters: [appId],
  }
}

/** Revokes all credentials of an app, with their history, and deletes the app. Returns whether it existed. */
export async function removeApp(
  database: SqlDatabase,
  id: string,
  appId: string,
  by: Actor,
): Promise<boolean> {
  const results = await database.batch([
    ...lockApp(database, appId),
    {
      text: `insert into {consents} (id, credential_id, at, done_by, done_as, kind)
        select ?2 || '-' || c.id, c.id, ${database.now}, ?3, ?4, 'revoked' from {credentials} c
        where c.app_id = ?1 and c.source = 'connect' and c.revoked_at is null`,
      parameters: [appId, id, by.name, by.kind],
    },
    {
      text: `update {credentials} set revoked_at = ${database.now} where app_id = ?1 and revoked_at is null`,
      parameters: [appId],
    },
    appendEdit(
      database,
      { id, by, kind: 'removed' },
      { text: 'select id from {apps} where id = ?1', parameters: [appId] },
    ),
    { text: 'delete from {app_reviews} where app_id = ?1', parameters: [appId] },
    { text: 'delete from {app_logos} where app_id = ?1', parameters: [appId] },
    database.change('credentials'),
    { text: 'delete from {apps} where id = ?1 returning id', parameters: [appId] },
  ])
  return results.at(-1)!.length > 0
}
