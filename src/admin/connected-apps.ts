import { z } from 'zod'
import { outOfRange } from '../base/invalid-input.js'
import { formatCredits, parseCredits } from '../base/money.js'
import { CALENDAR_PERIODS } from '../base/periods.js'
import { present } from '../base/present.js'
import { Refusal } from '../base/refusal.js'
import type { Actor, Cap, CapPeriod, CapRule, ConnectedApp } from '../contracts/index.js'
import {
  creditsSchema,
  idSchema,
  idsSchema,
  nameSchema,
  parseField,
  parseInput,
  rowsSchema,
  whose,
  zoneSchema,
} from '../rules/schemas.js'
import type { Recorder } from '../sql/audit.js'
import { readNumber, readOptionalJson, readOptionalNumber, readOptionalText, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { AppDefinition } from '../sql/connect-apps.js'
import { capId, readCap, readSpent, toLimit } from '../sql/connect-caps.js'
import { actorOf, appendHistory, type HistoryKind } from '../sql/connect-history.js'
import { readConnectedApp, revokeCredential, withSessions } from '../sql/connected-apps.js'
import { createSqlConnections } from '../sql/connections.js'
import type { Row, SqlDatabase } from '../sql/database.js'
import { cutPage } from '../sql/large-pages.js'
import { toLimitCell } from '../sql/limit-rows.js'
import { checkHoldable } from './amounts.js'

/** The connected app of a user, with its devices. Its `credentialId` in calls and entries is `id`. */
export interface ConnectedAppRow extends ConnectedApp {
  readonly appName?: string
  /** The credits used and held in the cap's current period. Absent without a cap. */
  readonly spent?: bigint
  /** The minute of the connected app's last recorded call. Absent if there is none. */
  readonly lastUsedAt?: number
  readonly revokedAt?: number
  /** Empty if the connected app is revoked or has ended. */
  readonly devices: readonly DeviceRow[]
}

/** A connection of a connected app that has received a token and has not ended. */
export interface DeviceRow {
  readonly connectionId: string
  readonly label?: string
  readonly createdAt: number
  /** When it last received an access token. */
  readonly usedAt: number
}

export interface ConnectedAppsQuery {
  readonly account?: string
  readonly appId?: string
  readonly connectedAppIds?: readonly string[]
  /** Set to true to omit connected apps that are revoked or have ended. */
  readonly inUse?: boolean
  readonly after?: string
  /** From 1 to 1,000; 100 by default. */
  readonly limit?: number
}

export interface CapRequest extends CapPeriod {
  /** A decimal string of credits. */
  readonly amount: string
  /** By default the zone of the current cap, or else that of the consent page. Another zone starts to count from 0. */
  readonly zone?: string
}

/** Identifies who changes a connected app. */
export interface ConnectedAppChange {
  /**
   * The account that makes the change. It must be the connected app's own, or the connected app counts as missing. By
   * default, the operator makes the change.
   */
  readonly account?: string
}

/** One row of the history of a connected app. */
export interface ConnectedAppEvent {
  readonly id: string
  readonly at: number
  /** The account that made the change, `operator`, or `app` if the app returned a token or replayed one. */
  readonly by: string
  /** Distinguishes an account named `operator` from an operator. */
  readonly byKind: Actor['kind']
  readonly kind: HistoryKind
  /**
   * For `connected` and `consented`, the agreed terms. For `cap-changed`, the new cap. For `device-added` and
   * `device-removed`, the device. Plain JSON, with credits as decimal strings.
   */
  readonly terms?: Readonly<Record<string, unknown>>
}

export interface ConnectedAppsAdmin {
  /**
   * Lists the apps that users have connected, newest first. For the next page, pass the last id as `after`. A page may
   * have fewer rows than `limit` if these are large. Only an empty page is the end.
   */
  list(query?: ConnectedAppsQuery): Promise<readonly ConnectedAppRow[]>
  /**
   * Sets the cap of a connected app, or removes it with `null`. It applies to the next call, in every process within a
   * second. Calls in flight are settled. The use so far stays, unless the period or its zone changes. Rejects if the
   * connected app is missing or revoked. Also rejects if an account breaks the host's rule that it agreed to, with no cap
   * or one above the maximum.
   */
  setCap(connectedAppId: string, cap: CapRequest | null, change?: ConnectedAppChange): Promise<void>
  /**
   * Revokes a connected app with all its devices, in every process within a second. Calls in flight are settled. Returns
   * whether it was live.
   */
  revoke(connectedAppId: string, change?: ConnectedAppChange): Promise<boolean>
  /** Ends one device of a connected app. Returns whether it was connected. */
  removeDevice(connectedAppId: string, connectionId: string, change?: ConnectedAppChange): Promise<boolean>
  /** Lists the history of a connected app, newest first, even if it is revoked. 100 rows by default. */
  listHistory(
    connectedAppId: string,
    query?: ConnectedAppChange & { readonly limit?: number },
  ): Promise<readonly ConnectedAppEvent[]>
}

const DEFAULT_ROWS = 100
const MAX_ROWS = 1_000

const capSchema = z.strictObject({
  amount: creditsSchema,
  per: z.enum(CALENDAR_PERIODS),
  zone: zoneSchema.optional(),
})
export const changeSchema = z.strictObject({ account: whose(nameSchema) })
const historySchema = changeSchema.extend({ limit: rowsSchema.optional() })
const querySchema = z.strictObject({
  account: whose(nameSchema),
  appId: whose(nameSchema),
  connectedAppIds: whose(idsSchema),
  inUse: z.boolean().optional(),
  after: idSchema.optional(),
  limit: rowsSchema.max(MAX_ROWS).optional(),
})

export function createConnectedAppsAdmin(
  database: SqlDatabase,
  newId: () => string,
  recorder: Recorder,
): ConnectedAppsAdmin {
  const connections = createSqlConnections(database, newId)
  const isInUse = `c.revoked_at is null and (c.ends_at is null or c.ends_at > ${database.now})`

  /** Returns the connected app's account and app if the one who makes the change may see it. */
  async function find(connectedAppId: string, change: ConnectedAppChange) {
    const { account } = parseInput(changeSchema, change, 'change')
    const [row] = await database.all({
      text: `select * from {credentials} where id = ?1 and source = 'connect'`,
      parameters: [parseField(idSchema, connectedAppId, 'connectedAppId')],
    })
    if (row === undefined || (account !== undefined && row.account !== account)) return undefined
    return {
      account: readText(row, 'account'),
      appId: readText(row, 'app_id'),
      capRule: readConnectedApp(row).capRule,
      recorder: account === undefined ? recorder : recorder.as(actorOf(account)),
    }
  }

  async function presentCap(account: string, appId: string): Promise<Cap | undefined> {
    const [row] = await database.all({
      text: 'select definition from {limits} where id = ?1',
      parameters: [capId(account, appId)],
    })
    return row === undefined ? undefined : readCap(row, 'definition')
  }

  /**
   * Returns the definitions of the caps' limits, by connected app. An earlier connected app has passed its cap to the
   * current one.
   */
  async function capsOf(connectedApps: readonly Row[]): Promise<ReadonlyMap<string, string>> {
    const { parameters, addOneOf, where } = createConditions()
    addOneOf(
      'id',
      connectedApps.map((row) => capId(readText(row, 'account'), readText(row, 'app_id'))),
    )
    const rows = await database.all({
      text: `select owner_id, definition from {limits} ${where()}`,
      parameters,
    })
    return new Map(rows.map((row) => [readText(row, 'owner_id'), readText(row, 'definition')]))
  }

  async function devicesOf(
    connectedAppIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly DeviceRow[]>> {
    const { conditions, parameters, addOneOf, where } = createConditions()
    addOneOf('n.credential_id', connectedAppIds)
    conditions.push('n.ended_at is null', 'n.used_at is not null', isInUse)
    const rows = await database.all({
      text: `select n.* from {connections} n join {credentials} c on c.id = n.credential_id
        ${where()} order by n.created_at desc, n.id`,
      parameters,
    })
    return groupDevices(rows)
  }

  return {
    async list(query = {}) {
      const {
        account,
        appId,
        connectedAppIds,
        inUse,
        after,
        limit = DEFAULT_ROWS,
      } = parseInput(querySchema, query, 'connected apps')
      const { conditions, parameters, add, addEqual, addOneOf, where } = createConditions()
      conditions.push("c.source = 'connect'")
      addEqual({ 'c.account': account, 'c.app_id': appId })
      if (connectedAppIds !== undefined) addOneOf('c.id', connectedAppIds)
      if (inUse === true) conditions.push(isInUse)
      if (after !== undefined) add((value) => `c.id < ${value}`, after)
      parameters.push(BigInt(limit))
      const app = 'left join {apps} p on p.id = c.app_id'
      const page = `select c.id, coalesce(length(c.terms), 0) + coalesce(length(p.definition), 0) as size
        from {credentials} c ${app} ${where()} order by c.id desc limit ?${parameters.length}`
      const rows = await database.all({
        text: `select c.*, p.definition as app, u.last_used_at from {credentials} c ${app}
          left join {credential_uses} u on u.credential_id = c.id
          where c.id in (${cutPage(page, 'desc')}) order by c.id desc`,
        parameters,
      })
      const caps = await capsOf(rows)
      const connectedApps = rows.map((row) =>
        readConnectedApp({ ...row, cap: caps.get(readText(row, 'id')) ?? null }),
      )
      const devices = await devicesOf(connectedApps.map(({ id }) => id))
      const capped = connectedApps.filter(hasCap)
      const spent = await readSpent(
        database,
        capped.map((connectedApp) => ({
          account: connectedApp.account,
          appId: connectedApp.appId,
          period: connectedApp.cap,
        })),
      )
      const spentOf = new Map(capped.map(({ id }, index) => [id, spent[index]!]))
      return connectedApps.map((connectedApp, index) =>
        toConnectedAppRow(
          connectedApp,
          rows[index]!,
          spentOf.get(connectedApp.id),
          devices.get(connectedApp.id) ?? [],
        ),
      )
    },

    async setCap(connectedAppId, request, change = {}) {
      const asked = request === null ? undefined : readCapRequest(request)
      const connectedApp = await find(connectedAppId, change)
      if (connectedApp === undefined) throw missing(connectedAppId)
      const { account, appId, capRule, recorder: own } = connectedApp
      const ownZone = (await presentCap(account, appId))?.zone ?? capRule?.zone
      if (change.account !== undefined) checkCap(asked, capRule, ownZone)
      const zone = asked?.zone ?? ownZone
      const cap = asked === undefined || zone === undefined ? asked : { ...asked, zone }
      const live = {
        text: 'select id from {credentials} where id = ?1 and revoked_at is null',
        parameters: [connectedAppId],
      }
      const [locked] = await database.batch([
        {
          text: 'update {credentials} set id = id where id = ?1 and revoked_at is null returning id',
          parameters: [connectedAppId],
        },
        cap === undefined
          ? {
              text: `delete from {limits} where id = ?2 and exists (${live.text})`,
              parameters: [connectedAppId, capId(account, appId)],
            }
          : {
              text: `insert into {limits} (id, owner_kind, owner_id, definition, created_at)
                select ?2, 'credential', id, ?3, ${database.now} from (${live.text}) granted where true
                on conflict (id) do update set owner_id = excluded.owner_id, definition = excluded.definition`,
              parameters: [connectedAppId, capId(account, appId), toLimitCell(toLimit(account, appId, cap))],
            },
        appendHistory(
          database,
          {
            id: newId(),
            kind: 'cap-changed',
            by: own.by,
            terms: { cap: cap === undefined ? null : { ...cap, amount: formatCredits(cap.amount) } },
          },
          live,
        ),
        database.changeEach('credentials', withSessions(live)),
      ])
      if (locked!.length === 0) {
        throw new Refusal('conflict', `The connected app ${JSON.stringify(connectedAppId)} is revoked`)
      }
    },

    async revoke(connectedAppId, change = {}) {
      const connectedApp = await find(connectedAppId, change)
      if (connectedApp === undefined) return false
      return (
        (await revokeCredential(database, newId(), connectedAppId, connectedApp.recorder))?.wasLive === true
      )
    },

    async removeDevice(connectedAppId, connectionId, change = {}) {
      const connectedApp = await find(connectedAppId, change)
      if (connectedApp === undefined) return false
      const rows = await database.all({
        text: 'select id from {connections} where id = ?1 and credential_id = ?2',
        parameters: [parseField(idSchema, connectionId, 'connectionId'), connectedAppId],
      })
      return rows.length > 0 && connections.endConnection(connectionId, 'removed', connectedApp.recorder.by)
    },

    async listHistory(connectedAppId, query = {}) {
      const { limit = DEFAULT_ROWS, ...change } = parseInput(historySchema, query, 'history')
      if ((await find(connectedAppId, change)) === undefined) return []
      const rows = await database.all({
        text: 'select * from {consents} where credential_id = ?1 order by at desc, id desc limit ?2',
        parameters: [connectedAppId, BigInt(limit)],
      })
      return rows.map(readEvent)
    },
  }
}

function hasCap(connectedApp: ConnectedApp): connectedApp is ConnectedApp & { readonly cap: Cap } {
  return connectedApp.cap !== undefined
}

function readCapRequest(request: CapRequest): Cap {
  const { amount: text, per, zone } = parseInput(capSchema, request, 'cap')
  const amount = parseCredits(text)
  checkHoldable(amount, { of: 'cap', field: 'amount' })
  return { amount, per, ...present({ zone }) }
}

/**
 * Throws if a user's cap breaks the host's rule. A maximum holds for one period and zone: another one would count from 0,
 * so a user could spend the maximum in each.
 */
function checkCap(cap: Cap | undefined, rule: CapRule | undefined, ownZone: string | undefined): void {
  if (rule === undefined) return
  if (cap === undefined) {
    if (rule.required) throw new Refusal('conflict', 'The app needs a cap: set one, or disconnect the app')
    return
  }
  const { max, per } = rule
  if (max === undefined) return
  if (cap.amount > max) {
    throw outOfRange({ of: 'cap', field: 'amount' }, `must be at most ${formatCredits(max)} per ${per}`)
  }
  if (cap.per !== per)
    throw outOfRange({ of: 'cap', field: 'per' }, `must be ${per}, as the maximum is per ${per}`)
  const zone = ownZone ?? 'UTC'
  if (cap.zone !== undefined && cap.zone !== zone) {
    throw outOfRange(
      { of: 'cap', field: 'zone' },
      `must be ${zone}, in which the maximum counts. Leave it out`,
    )
  }
}

function toConnectedAppRow(
  connectedApp: ConnectedApp,
  row: Row,
  spent: bigint | undefined,
  devices: readonly DeviceRow[],
): ConnectedAppRow {
  return {
    ...connectedApp,
    ...present({
      appName: readOptionalJson<AppDefinition>(row, 'app')?.name,
      spent,
      lastUsedAt: readOptionalNumber(row, 'last_used_at'),
      revokedAt: readOptionalNumber(row, 'revoked_at'),
    }),
    devices,
  }
}

function groupDevices(rows: readonly Row[]): ReadonlyMap<string, readonly DeviceRow[]> {
  const devices = new Map<string, DeviceRow[]>()
  for (const row of rows) {
    const connectedAppId = readText(row, 'credential_id')
    const device: DeviceRow = {
      connectionId: readText(row, 'id'),
      ...present({ label: readOptionalText(row, 'label') }),
      createdAt: readNumber(row, 'created_at'),
      usedAt: readNumber(row, 'used_at'),
    }
    const known = devices.get(connectedAppId)
    if (known === undefined) devices.set(connectedAppId, [device])
    else known.push(device)
  }
  return devices
}

function readEvent(row: Row): ConnectedAppEvent {
  return {
    id: readText(row, 'id'),
    at: readNumber(row, 'at'),
    by: readText(row, 'done_by'),
    byKind: readText(row, 'done_as') as Actor['kind'],
    kind: readText(row, 'kind') as HistoryKind,
    ...present({ terms: readOptionalJson<Record<string, unknown>>(row, 'terms') }),
  }
}

function missing(connectedAppId: string): Refusal {
  return new Refusal('not-found', `There is no connected app ${JSON.stringify(connectedAppId)}`)
}
