import { z } from 'zod'
import { present } from '../base/present.js'
import { isLoopbackRedirect } from '../base/redirect-uris.js'
import { Refusal } from '../base/refusal.js'
import type { Actor } from '../contracts/index.js'
import { idSchema, nameSchema, parseField, parseInput } from '../rules/schemas.js'
import { readText, toTimeCell } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import { actorOf } from '../sql/connect-history.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { lockName } from '../sql/locks.js'
import { type AppRequest, type AppRules, type OwnAppRequest, readOwnAppRequest } from './app-input.js'
import { readAppLogo } from './app-logos.js'
import {
  type AppReview,
  type AppsQuery,
  appPageSchema,
  changedFields,
  listAppRows,
  type ReviewedValues,
  readAppRow,
  readReview,
  rowsOf,
  suspensionOf,
  toAppCells,
  toRequest,
} from './app-rows.js'
import { deleteOldLogos, insertLogo, removeApp, withFreeName } from './apps.js'

/** Apps that users publish, and the review of their changes. */
export interface UserAppsAdmin {
  /**
   * Registers an app for its owner, in `test`, or changes the owner's app. For a live app, a new name, another site,
   * and redirect URIs on other hosts or ports wait for review. Everything else applies at once. Returns whether a
   * change waits. Rejects if the app belongs to another owner, if the owner has 10 apps, or after 60 changes within an
   * hour.
   */
  put(owner: string, app: OwnAppRequest): Promise<{ readonly inReview: boolean }>
  /** Sets or removes the logo of an owner's app, like `apps.putLogo`. The logo of a live app waits for review. */
  putLogo(owner: string, appId: string, logo: Uint8Array | null): Promise<{ readonly inReview: boolean }>
  /** Asks the operator to make an owner's app live. */
  askForReview(owner: string, appId: string): Promise<void>
  /** Removes an owner's app, like `apps.remove`. Returns whether the owner had such an app. */
  remove(owner: string, appId: string): Promise<boolean>
  /** Lists changes that wait for review, by app. For the next page, pass the last `appId` as `after`. */
  listReviews(query?: Omit<AppsQuery, 'owner'>): Promise<readonly AppReview[]>
  /**
   * Applies the values of a review, or drops them. Rejects if the review has changed since it was read, so that an
   * operator decides only on values that were seen.
   */
  decideReview(review: AppReview, decision: 'accept' | 'reject'): Promise<void>
}

const reviewSchema = z.strictObject({
  appId: idSchema,
  by: nameSchema,
  at: z.number(),
  values: z.strictObject({
    name: z.string().optional(),
    redirectUris: z.array(z.string()).optional(),
    site: z.string().nullable().optional(),
    logo: z.string().nullable().optional(),
    live: z.literal(true).optional(),
  }),
})

const MAX_APPS = 10
const MAX_EDITS = 60
const HOUR_MS = 3_600_000

export function createUserAppsAdmin(
  database: SqlDatabase,
  rules: AppRules,
  newId: () => string,
  by: Actor,
): UserAppsAdmin {
  const { now } = database

  async function find(owner: string, appId: string): Promise<Row> {
    parseField(nameSchema, owner, 'owner')
    const [row] = await listAppRows(database, { appIds: [parseField(idSchema, appId, 'id', 'app')], owner })
    if (row === undefined) {
      throw new Refusal('not-found', `${JSON.stringify(owner)} has no app ${JSON.stringify(appId)}`)
    }
    return row
  }

  async function reviewOf(appId: string): Promise<ReviewedValues> {
    const [row] = await database.all({
      text: 'select * from {app_reviews} where app_id = ?1',
      parameters: [appId],
    })
    return row === undefined ? {} : readReview(row).values
  }

  /**
   * Runs an owner's change of one app in one transaction. `from` is the part of a query that has a row if the change is
   * allowed. The edit is stored first, and every statement must depend on it, as {@link IS_MADE} says.
   */
  async function change(
    { owner, appId, fields, asks = false }: OwnChange,
    from: Statement,
    statements: (editId: string) => readonly Statement[],
  ): Promise<void> {
    const editId = newId()
    const { text, parameters = [] } = from
    const more = (index: number) => `?${parameters.length + index}`
    const lock = lockName(database, `compat_router.apps:${owner}`)
    const results = await database.batch([
      ...lock,
      {
        text: `select count(*) as edits from {app_edits} where done_by = ?1 and done_as = 'account' and at > ${now} - ${HOUR_MS}`,
        parameters: [owner],
      },
      // Locks the row, so that a concurrent change is seen.
      { text: 'update {apps} set id = id where id = ?1', parameters: [appId] },
      {
        text: `insert into {app_edits} (id, app_id, at, done_by, done_as, kind, fields)
          select ${more(1)}, ${more(2)}, ${now}, ${more(3)}, 'account', ${more(4)}, ${more(5)} ${text} and (
            select count(*) from {app_edits} e where e.done_by = ${more(3)} and e.done_as = 'account' and e.at > ${now} - ${HOUR_MS}
          ) < ${MAX_EDITS}
          returning id`,
        parameters: [
          ...parameters,
          editId,
          appId,
          owner,
          asks ? 'review-asked' : 'put',
          JSON.stringify(fields),
        ],
      },
      ...statements(editId),
    ])
    if (results[lock.length + 2]!.length > 0) return
    if (Number(results[lock.length]![0]!.edits) >= MAX_EDITS) {
      throw new Refusal(
        'conflict',
        `${JSON.stringify(owner)} has made ${MAX_EDITS} changes within an hour: try again later`,
      )
    }
    throw new Refusal(
      'conflict',
      `The app ${JSON.stringify(appId)} was not changed: it has changed meanwhile, its id is taken, or ${JSON.stringify(owner)} has ${MAX_APPS} apps`,
    )
  }

  /** Returns the condition that an app is still as it was read. */
  function unchanged(row: Row): Statement {
    return {
      text: 'from {apps} p where p.id = ?1 and p.owner = ?2 and p.definition = ?3 and p.state = ?4',
      parameters: [
        readText(row, 'id'),
        readText(row, 'owner'),
        readText(row, 'definition'),
        readText(row, 'state'),
      ],
    }
  }

  function putReview(editId: string, owner: string, appId: string, values: ReviewedValues): Statement {
    if (Object.keys(values).length === 0) {
      return {
        text: `delete from {app_reviews} where app_id = ?2 and ${IS_MADE}`,
        parameters: [editId, appId],
      }
    }
    return {
      // No two states of a review have the same time, even within a millisecond.
      text: `insert into {app_reviews} as r (app_id, definition, done_by, at)
        select ?2, ?3, ?4, ${now} where ${IS_MADE}
        on conflict (app_id) do update set definition = excluded.definition, done_by = excluded.done_by,
          at = case when excluded.at > r.at then excluded.at else r.at + 1 end`,
      parameters: [editId, appId, JSON.stringify(values), owner],
    }
  }

  async function addApp(owner: string, app: AppRequest): Promise<void> {
    await change(
      { owner, appId: app.id, fields: Object.keys(app) },
      {
        // The id of a removed app stays with the account that registered it, since its calls, edits and limits are
        // found by the id.
        text: `where (select count(*) from {apps} p where p.owner = ?1) < ${MAX_APPS}
          and coalesce((
            select case when e.done_by = ?1 and e.done_as = 'account' then 1 else 0 end
            from {app_edits} e where e.app_id = ?2 order by e.id limit 1
          ), 1) = 1`,
        parameters: [owner, app.id],
      },
      (editId) => [
        {
          text: `insert into {apps} (id, definition, owner, state, name_key, suspended_at, created_at)
            select ?2, ?3, ?4, ?5, ?6, ${suspensionOf('?2')}, ${now} where ${IS_MADE}`,
          parameters: [editId, app.id, ...toAppCells(app)],
        },
      ],
    )
  }

  /** Only the operator sets who earns, and which origins may use the tokens. */
  async function editApp(
    owner: string,
    row: Row,
    asked: OwnAppRequest,
  ): Promise<{ readonly inReview: boolean }> {
    const { owner: _, state, ...before } = toRequest(readAppRow(row))
    const { account, origins } = before
    const next: AppRequest = {
      ...asked,
      ...present({ account, origins }),
    }
    const { applied, reviewed } =
      state === 'test' ? { applied: { ...next, state }, reviewed: {} } : split(before, next)
    const { logo, live } = await reviewOf(asked.id)
    const inReview = Object.keys(reviewed).length > 0
    await change(
      { owner, appId: asked.id, fields: changedFields(before, next), asks: inReview },
      unchanged(row),
      (editId) => [
        updateApp(editId, applied),
        putReview(editId, owner, asked.id, {
          ...reviewed,
          ...present({ logo, live }),
        }),
        database.change('credentials'),
      ],
    )
    return { inReview }
  }

  /** Runs the statements and ends a review. Returns false without any effect if the review or the app has changed. */
  async function decide(
    row: Row,
    { at, values }: Pick<AppReview, 'at' | 'values'>,
    kind: 'review-accepted' | 'review-rejected',
    statements: (editId: string) => readonly Statement[],
  ): Promise<boolean> {
    const editId = newId()
    const appId = readText(row, 'id')
    const review = JSON.stringify(values)
    const [, decided] = await database.batch([
      // Locks the row, so that a concurrent change is seen.
      { text: 'update {apps} set id = id where id = ?1', parameters: [appId] },
      {
        text: `insert into {app_edits} (id, app_id, at, done_by, done_as, kind, fields)
          select ?3, p.id, ${now}, ?4, '${by.kind}', ?5, ?6 from {apps} p
          join {app_reviews} r on r.app_id = p.id and r.definition = ?7 and r.at = cast(?8 as bigint)
          where p.id = ?1 and p.definition = ?2 returning id`,
        parameters: [
          appId,
          readText(row, 'definition'),
          editId,
          by.name,
          kind,
          JSON.stringify(Object.keys(values)),
          review,
          toTimeCell(at, 'review.at'),
        ],
      },
      ...statements(editId),
      {
        text: `delete from {app_reviews} where app_id = ?2 and definition = ?3 and ${IS_MADE}`,
        parameters: [editId, appId, review],
      },
      deleteOldLogos(appId),
    ])
    return decided!.length > 0
  }

  return {
    async put(owner, app) {
      parseField(nameSchema, owner, 'owner')
      const asked = readOwnAppRequest(app, rules)
      return withFreeName(database, rules, { ...asked, owner }, async () => {
        const [row] = await listAppRows(database, { appIds: [asked.id] })
        if (row === undefined) {
          await addApp(owner, { ...asked, account: owner, owner, state: 'test' })
          return { inReview: false }
        }
        await find(owner, asked.id)
        return editApp(owner, row, asked)
      })
    },

    async putLogo(owner, appId, bytes) {
      const row = await find(owner, appId)
      const logo = bytes === null ? undefined : readAppLogo(bytes)
      const hash = logo?.hash ?? null
      const inReview = readText(row, 'state') === 'live'
      const review = await reviewOf(appId)
      await change({ owner, appId, fields: ['logo'], asks: inReview }, unchanged(row), (editId) => [
        inReview
          ? putReview(editId, owner, appId, { ...review, logo: hash })
          : updateLogo(editId, appId, hash),
        // An operator who has seen the app with its earlier logo must see it again.
        ...(inReview ? [] : [putReview(editId, owner, appId, review)]),
        ...(logo === undefined ? [] : [insertLogo(appId, logo)]),
        deleteOldLogos(appId),
      ])
      return { inReview }
    },

    async askForReview(owner, appId) {
      const row = await find(owner, appId)
      if (readText(row, 'state') === 'live') {
        throw new Refusal('conflict', `The app ${JSON.stringify(appId)} is live already`)
      }
      const review = await reviewOf(appId)
      await change({ owner, appId, fields: ['state'], asks: true }, unchanged(row), (editId) => [
        putReview(editId, owner, appId, { ...review, live: true }),
      ])
    },

    async remove(owner, appId) {
      const rows = await listAppRows(database, {
        appIds: [appId],
        owner: parseField(nameSchema, owner, 'owner'),
      })
      return rows.length > 0 && removeApp(database, newId(), appId, actorOf(owner))
    },

    async listReviews(query = {}) {
      const asked = parseInput(appPageSchema, query, 'reviews')
      const { after, appIds } = asked
      const { parameters, add, addOneOf, where } = createConditions()
      if (appIds !== undefined) addOneOf('app_id', appIds)
      if (after !== undefined) add((value) => `app_id > ${value}`, after)
      parameters.push(rowsOf(asked))
      const rows = await database.all({
        text: `select * from {app_reviews} ${where()} order by app_id limit ?${parameters.length}`,
        parameters,
      })
      return rows.map(readReview)
    },

    async decideReview(review, decision) {
      // The values are compared with the stored ones as JSON, so their order must not change.
      parseInput(reviewSchema, review, 'review')
      parseField(z.enum(['accept', 'reject']), decision, 'decision')
      const { appId, at, values } = review
      const [row] = await listAppRows(database, { appIds: [appId] })
      if (row === undefined) throw new Refusal('not-found', `There is no app ${JSON.stringify(appId)}`)
      const accepted = decision === 'accept' ? acceptValues(toRequest(readAppRow(row)), values) : undefined
      const isDecided = await (accepted === undefined
        ? decide(row, { at, values }, 'review-rejected', () => [])
        : withFreeName(database, rules, accepted, () =>
            decide(row, { at, values }, 'review-accepted', (editId) => [
              updateApp(editId, accepted),
              ...(values.logo === undefined ? [] : [updateLogo(editId, appId, values.logo)]),
              database.change('credentials'),
            ]),
          ))
      if (isDecided) return
      throw new Refusal(
        'conflict',
        `The review of the app ${JSON.stringify(appId)} has changed or was decided: load it again`,
      )
    },
  }
}

interface OwnChange {
  readonly owner: string
  readonly appId: string
  /** The names of the changed fields. */
  readonly fields: readonly string[]
  /** Whether the change waits for review. */
  readonly asks?: boolean
}

/** SQL that is true if the edit whose id is the first parameter was stored. */
const IS_MADE = 'exists (select 1 from {app_edits} made where made.id = ?1)'

function updateApp(editId: string, app: AppRequest): Statement {
  const [definition, , state, nameKey] = toAppCells(app)
  return {
    text: `update {apps} set definition = ?3, state = ?4, name_key = ?5 where id = ?2 and ${IS_MADE}`,
    parameters: [editId, app.id, definition, state, nameKey],
  }
}

function updateLogo(editId: string, appId: string, hash: string | null): Statement {
  return {
    text: `update {apps} set logo_hash = ?3 where id = ?2 and ${IS_MADE}`,
    parameters: [editId, appId, hash],
  }
}

/** Separates the values of a live app that apply at once from those that an operator must review. */
function split(
  before: AppRequest,
  asked: AppRequest,
): { readonly applied: AppRequest; readonly reviewed: ReviewedValues } {
  const { name, site, redirectUris: uris = [], ...rest } = asked
  const knownUris = before.redirectUris ?? []
  const hosts = new Set(knownUris.map(hostOf))
  const redirectUris = uris.filter((uri) => hosts.has(hostOf(uri)))
  return {
    applied: {
      ...rest,
      // The last redirect URI waits with the review, or the app could not be connected meanwhile.
      redirectUris: redirectUris.length === 0 && uris.length > 0 ? knownUris : redirectUris,
      ...present({ name: before.name, site: before.site }),
    },
    reviewed: {
      ...(name !== undefined && name !== before.name && { name }),
      ...(site !== before.site && { site: site ?? null }),
      ...(redirectUris.length !== uris.length && { redirectUris: uris }),
    },
  }
}

/** Another port can belong to another program, except on the user's own machine. */
function hostOf(uri: string): string {
  const { protocol, host, hostname } = new URL(uri)
  return `${protocol}//${isLoopbackRedirect(uri) ? hostname : host}`
}

function acceptValues(before: AppRequest, { name, redirectUris, site, live }: ReviewedValues): AppRequest {
  const { site: siteBefore, state, ...rest } = before
  const newSite = site === undefined ? siteBefore : site
  return {
    ...rest,
    ...present({ name, redirectUris }),
    ...(newSite !== undefined && newSite !== null && { site: newSite }),
    ...(state !== undefined && !live && { state }),
  }
}
