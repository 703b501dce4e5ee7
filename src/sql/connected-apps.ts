import { formatCredits, parseCredits } from '../base/money.js'
import type { AppModels, Markup } from '../contracts/credentials.js'
import type { Cap, CapRule, ConnectedApp, ConnectedApps, Consent } from '../contracts/index.js'
import { createRecorder, type Recorder } from './audit.js'
import { readJson, readText } from './cells.js'
import { capId, readCap, readCharged, readSpent, toLimit } from './connect-caps.js'
import { actorOf, appendHistory } from './connect-history.js'
import { readAccess } from './connections.js'
import type { Row, SqlDatabase, Statement } from './database.js'
import { toLimitCell } from './limit-rows.js'
import { lockName } from './locks.js'

/** The JSON of `credentials.terms`. */
export interface Terms {
  readonly models: AppModels
  readonly markup: Markup
  readonly capRule?: Omit<CapRule, 'max'> & { readonly max?: string }
}

const LIVE_CONNECTED_APP = `c.account = ?1 and c.app_id = ?2 and c.source = 'connect' and c.revoked_at is null`

/** SQL that is true if an account can consent to the app `p`. */
const MAY_CONSENT = `p.id = ?2 and p.suspended_at is null
  and not exists (select 1 from {accounts} a where a.id = ?1 and a.suspended_at is not null)`

export function createSqlConnectedApps(database: SqlDatabase, newId: () => string): ConnectedApps {
  return {
    async findConnectedApp(account, appId) {
      const [row] = await database.all({
        text: `select c.*, l.definition as cap from {credentials} c left join {limits} l on l.id = ?3
          where ${LIVE_CONNECTED_APP}`,
        parameters: [account, appId, capId(account, appId)],
      })
      return row === undefined ? undefined : readConnectedApp(row)
    },

    async consent(consent) {
      const { account, appId, cap } = consent
      const connectedAppId = newId()
      const consentId = newId()
      const before = [...lockApp(database, appId), ...endDevices(database, consent)]
      const results = await database.batch([
        ...before,
        putConnectedApp(database, consent, connectedAppId, consentId),
        appendHistory(
          database,
          { id: consentId, kind: 'consented', by: actorOf(account), terms: toHistory(consent) },
          consented(account, appId, consentId),
        ),
        {
          text: `update {consents} set kind = 'connected' where id = ?1 and credential_id = ?2`,
          parameters: [consentId, connectedAppId],
        },
        cap === undefined ? removeCap(consent, consentId) : putCap(database, consent, cap, consentId),
        // The sessions of a connected app take its terms.
        database.changeEach('credentials', withSessions(consented(account, appId, consentId))),
      ])
      const [connectedApp] = results[before.length]!
      return connectedApp === undefined ? undefined : { connectedAppId: readText(connectedApp, 'id') }
    },

    async disconnectApp(account, appId, by) {
      const [row] = await database.all({
        text: `select c.id from {credentials} c where ${LIVE_CONNECTED_APP}`,
        parameters: [account, appId],
      })
      if (row === undefined) return false
      const revoked = await revokeCredential(
        database,
        newId(),
        readText(row, 'id'),
        createRecorder(database, newId, by),
      )
      return revoked?.wasLive === true
    },

    async spentInPeriod(account, appId, period) {
      const [counted] = await readSpent(database, [{ account, appId, period }])
      const charged = await readCharged(database, account, appId, period)
      if (charged > counted!) return charged
      return counted!
    },
  }
}

/**
 * Lets one transaction at a time add connected apps to an app or remove the app, so that no connected app outlives its
 * app.
 */
export function lockApp(database: SqlDatabase, appId: string): readonly Statement[] {
  return lockName(database, `compat_router.app:${appId}`)
}

/**
 * Revokes a credential with its tokens and the sessions that depend on it, in one transaction. The history of a connected
 * app, or the audit log, says who did. Returns undefined if there is no such credential.
 */
export async function revokeCredential(
  database: SqlDatabase,
  historyId: string,
  credentialId: string,
  recorder: Recorder,
): Promise<{ readonly wasLive: boolean } | undefined> {
  const parameters = [credentialId]
  const [found, , , revoked] = await database.batch([
    // Locks the row, so that the second of two concurrent revocations sees the first.
    { text: 'update {credentials} set id = id where id = ?1 returning id', parameters },
    appendHistory(
      database,
      { id: historyId, kind: 'revoked', by: recorder.by },
      {
        text: `select id from {credentials} where id = ?1 and source = 'connect' and revoked_at is null`,
        parameters,
      },
    ),
    recorder.record(
      { noun: 'credential', kind: 'revoked' },
      {
        text: `select id, account from {credentials} where id = ?1 and source = 'operator' and revoked_at is null`,
        parameters,
      },
    ),
    {
      text: `update {credentials} set revoked_at = ${database.now}
        where id = ?1 and revoked_at is null returning id`,
      parameters,
    },
    database.changeEach(
      'credentials',
      withSessions({ text: 'select id from {credentials} where id = ?1', parameters }),
    ),
  ])
  return found!.length === 0 ? undefined : { wasLive: revoked!.length > 0 }
}

/** Selects the ids of a query, and those of the sessions that depend on them. */
export function withSessions({ text, parameters = [] }: Statement): Statement {
  return {
    text: `select id from (${text}) grants
      union all select s.id from {credentials} s where s.parent_id in (select id from (${text}) grants)`,
    parameters,
  }
}

/** Selects the connected app whose terms this consent has set. */
function consented(account: string, appId: string, consentId: string): Statement {
  return {
    text: `select c.id from {credentials} c where ${LIVE_CONNECTED_APP} and c.consent_id = ?3`,
    parameters: [account, appId, consentId],
  }
}

/**
 * Ends the devices and sessions of a connected app that has ended: a new consent is for the current device and revives no
 * others.
 */
function endDevices({ now }: SqlDatabase, { account, appId }: Consent): readonly Statement[] {
  const ended = `select c.id from {credentials} c join {apps} p on p.id = c.app_id
    where ${LIVE_CONNECTED_APP} and c.ends_at <= ${now} and ${MAY_CONSENT}`
  const parameters = [account, appId]
  return [
    {
      text: `update {connections} set ended_at = ${now}, reason = 'unused'
        where ended_at is null and credential_id in (${ended})`,
      parameters,
    },
    {
      text: `update {credentials} set revoked_at = ${now} where revoked_at is null and parent_id in (${ended})`,
      parameters,
    },
  ]
}

function putConnectedApp(
  { now }: SqlDatabase,
  { account, appId, scopes, models, markup, capRule, endsAt }: Consent,
  connectedAppId: string,
  consentId: string,
): Statement {
  const terms: Terms = {
    models,
    markup,
    ...(capRule !== undefined && { capRule: toRuleCell(capRule) }),
  }
  return {
    text: `insert into {credentials}
        (id, kind, source, account, app_id, scopes, terms, ends_at, consent_id, created_at)
      select ?3, 'access-token', 'connect', ?1, p.id, ?4, ?5, cast(?6 as bigint), ?7, ${now} from {apps} p
      where ${MAY_CONSENT}
      on conflict (account, app_id) where source = 'connect' and revoked_at is null
      do update set scopes = excluded.scopes, terms = excluded.terms, ends_at = excluded.ends_at,
        consent_id = excluded.consent_id
      returning id`,
    parameters: [
      account,
      appId,
      connectedAppId,
      JSON.stringify(scopes),
      JSON.stringify(terms),
      endsAt === undefined ? null : BigInt(endsAt),
      consentId,
    ],
  }
}

/** Moves the cap of an earlier connected app to the current one, with its bucket. */
function putCap({ now }: SqlDatabase, { account, appId }: Consent, cap: Cap, consentId: string): Statement {
  const connectedApp = consented(account, appId, consentId)
  const limit = toLimit(account, appId, cap)
  return {
    text: `insert into {limits} (id, owner_kind, owner_id, definition, created_at)
      select ?4, 'credential', id, ?5, ${now} from (${connectedApp.text}) granted where true
      on conflict (id) do update set owner_id = excluded.owner_id, definition = excluded.definition`,
    parameters: [...connectedApp.parameters!, limit.id, toLimitCell(limit)],
  }
}

function removeCap({ account, appId }: Consent, consentId: string): Statement {
  const connectedApp = consented(account, appId, consentId)
  return {
    text: `delete from {limits} where id = ?4 and exists (${connectedApp.text})`,
    parameters: [...connectedApp.parameters!, capId(account, appId)],
  }
}

/** Returns the terms as the user saw them. */
function toHistory({ scopes, models, markup, cap, endsAt, appName, redirectHost }: Consent): object {
  return {
    appName,
    redirectHost,
    scopes,
    models,
    markup,
    ...(cap !== undefined && { cap: { ...cap, amount: formatCredits(cap.amount) } }),
    ...(endsAt !== undefined && { endsAt }),
  }
}

/** Reads a credential with the definition of its cap's limit. */
export function readConnectedApp(row: Row): ConnectedApp {
  const { models, markup, capRule } = readJson<Terms>(row, 'terms')
  const cap = readCap(row, 'cap')
  return {
    ...readAccess(row),
    models,
    markup,
    ...(cap !== undefined && { cap }),
    ...(capRule !== undefined && { capRule: readRule(capRule) }),
  }
}

function toRuleCell({ max, ...rule }: CapRule): NonNullable<Terms['capRule']> {
  return { ...rule, ...(max !== undefined && { max: formatCredits(max) }) }
}

function readRule({ max, ...rule }: NonNullable<Terms['capRule']>): CapRule {
  return { ...rule, ...(max !== undefined && { max: parseCredits(max) }) }
}
