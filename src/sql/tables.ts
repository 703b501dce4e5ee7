import { HOLD_STATE } from './hold-states.js'

/** The few words in which the engines' table definitions differ. */
export interface SchemaWords {
  /** The type of names that are looked up: compared byte by byte. */
  readonly name: string
  readonly integer: string
  /** A key that the database counts up. */
  readonly serial: string
  /** Ends the definition of a table whose rows are found by their key alone. */
  readonly keyed: string
  /** Ends the definition of a table whose rows change in place many times a second. */
  readonly busy: string
  /** Ends the definition of every other table. */
  readonly plain: string
}

/**
 * The tables of the first version. Amounts are of 10^-9 credit, times are milliseconds since the Unix epoch.
 *
 * - `accounts` caches what `postings` and the open `holds` add up to; all three change in one transaction.
 * - `entries` and `postings` are only ever added to. An entry carries its postings as JSON for its reader; the table is
 *   what an account's history is found and summed by.
 * - `claims` names the hold that last took a claim. The claim is taken while that hold is open or settled.
 * - `credentials` are keys and grants, `tokens` what is shown of them: a new token of a grant may have fewer scopes.
 * - `apps`, `models` and `routes` have what the host gave as JSON in `definition`; a route's secret stands beside it, sealed.
 * - `replies` keeps what calls with an `Idempotency-Key` were answered; until a call is `done`, its row is a lease.
 * - `entries.details` and `holds.facts` hold, as JSON, what nobody filters or sums by.
 */
export function firstTables(words: SchemaWords): readonly string[] {
  const { name, integer, serial, keyed, busy, plain } = words
  return [
    `create table {accounts} (
      id ${name} primary key,
      posted ${integer} not null default 0,
      held ${integer} not null default 0,
      suspended_at ${integer},
      created_at ${integer} not null
    ) ${busy}`,
    `create table {holds} (
      id ${name} primary key,
      account ${name} not null,
      amount ${integer} not null check (amount >= 0),
      state ${integer} not null,
      expires_at ${integer} not null,
      ended_at ${integer},
      claim ${name},
      replaces ${name},
      entry_id ${integer},
      facts text
    ) ${busy}`,
    `create index compat_holds_due on {holds} (expires_at) where state = ${HOLD_STATE.open}`,
    `create table {claims} (
      claim ${name} primary key,
      hold_id ${name} not null
    ) ${keyed}`,
    `create table {entries} (
      id ${serial},
      at ${integer} not null,
      kind text not null,
      hold_id ${name},
      reference ${name},
      account ${name} not null,
      credential_id ${name},
      model ${name},
      app_id ${name},
      session_id ${name},
      provider ${name},
      cost ${integer},
      base ${integer},
      markup ${integer},
      prompt ${integer},
      cached ${integer},
      cache_write ${integer},
      completion ${integer},
      reasoning ${integer},
      postings text not null,
      details text
    ) ${plain}`,
    'create index compat_entries_at on {entries} (at, id)',
    'create index compat_entries_model on {entries} (model, at, id) where model is not null',
    'create index compat_entries_app on {entries} (app_id, at, id) where app_id is not null',
    'create index compat_entries_session on {entries} (session_id, at, id) where session_id is not null',
    'create unique index compat_entries_reference on {entries} (reference) where reference is not null',
    `create table {postings} (
      account ${name} not null,
      at ${integer} not null,
      entry_id ${integer} not null,
      amount ${integer} not null,
      primary key (account, at, entry_id)
    ) ${keyed}`,
    `create table {apps} (
      id ${name} primary key,
      definition text not null,
      suspended_at ${integer},
      created_at ${integer} not null
    ) ${keyed}`,
    `create table {credentials} (
      id ${name} primary key,
      kind text not null,
      account ${name} not null,
      app_id ${name},
      label text,
      scopes text,
      metadata text,
      revoked_at ${integer},
      created_at ${integer} not null
    ) ${keyed}`,
    'create index compat_credentials_account on {credentials} (account)',
    `create table {tokens} (
      digest ${name} primary key,
      credential_id ${name} not null,
      prefix text not null,
      last_four text not null,
      scopes text,
      expires_at ${integer},
      revoked_at ${integer},
      created_at ${integer} not null
    ) ${keyed}`,
    'create index compat_tokens_credential on {tokens} (credential_id)',
    `create table {models} (
      id ${name} primary key,
      position ${integer} not null,
      definition text not null
    ) ${keyed}`,
    `create table {routes} (
      id ${name} primary key,
      model_id ${name} not null,
      position ${integer} not null,
      definition text not null,
      secret_key_id text,
      secret text
    ) ${keyed}`,
    'create index compat_routes_model on {routes} (model_id, position)',
    `create table {replies} (
      claim ${name} primary key,
      account ${name} not null,
      digest text not null,
      done ${integer} not null,
      expires_at ${integer} not null,
      size_bytes ${integer} not null,
      reply text
    ) ${keyed}`,
    'create index compat_replies_account on {replies} (account)',
    'create index compat_replies_expiry on {replies} (expires_at)',
  ]
}

/**
 * What the bodies of an account's replies take together, so that nobody has to add them up. Triggers keep it, so that it
 * is right whoever writes replies: also an earlier release that still runs beside this one.
 */
export function replyTotalsTable({ name, integer, busy }: SchemaWords): string {
  return `create table {reply_totals} (
    account ${name} primary key,
    size_bytes ${integer} not null
  ) ${busy}`
}

/** To be run when the triggers are there and nobody else writes. */
export const countReplies = `insert into {reply_totals} (account, size_bytes)
  select account, sum(size_bytes) from {replies} where size_bytes > 0 group by account`
