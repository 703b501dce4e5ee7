import { MEDIA_COLUMNS } from './entry-rows.js'
import { HOLD_STATE } from './hold-states.js'

/** The words that differ between the engines' table definitions. */
export interface SchemaWords {
  /** The type of names that are looked up, compared byte by byte. */
  readonly name: string
  readonly integer: string
  /** The type of a key that the database increments. */
  readonly serial: string
  /** Ends the definition of a table whose rows are found only by their key. */
  readonly keyed: string
  /** Ends the definition of a table whose rows change in place many times a second. */
  readonly busy: string
  /** Ends the definition of every other table. */
  readonly plain: string
}

/**
 * The tables of the first version. Amounts are in 10^-9 credit, times in milliseconds since the Unix epoch.
 *
 * - `accounts` caches the sums of `postings`, apart from earnings in slots (see `postedOf`), and of open `holds`. All change
 *   in one transaction.
 * - `entries` and `postings` are append-only. An entry contains its postings as JSON for its reader; the table serves to
 *   find and sum an account's history.
 * - `claims` contains the hold that last took each claim. The claim is taken while that hold is open or settled.
 * - `credentials` are keys and grants, `tokens` their bearer tokens: a new token of a grant may have fewer scopes.
 * - `apps`, `models` and `routes` contain the host's definition as JSON. A route's secret is sealed in its own column.
 * - `replies` contains the replies to calls with an `Idempotency-Key`. Until a call is `done`, its row is a lease.
 * - `entries.details` and `holds.facts` contain, as JSON, the values that have no column.
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
 * The total size of each account's stored bodies, so that nobody has to sum them. Triggers keep it right whoever writes
 * replies, even an earlier release that still runs beside this one.
 */
export function replyTotalsTable({ name, integer, busy }: SchemaWords): string {
  return `create table {reply_totals} (
    account ${name} primary key,
    size_bytes ${integer} not null
  ) ${busy}`
}

/** Run this once the triggers exist, while nobody else writes. */
export const countReplies = `insert into {reply_totals} (account, size_bytes)
  select account, sum(size_bytes) from {replies} where size_bytes > 0 group by account`

/** Adds the counts of audio and image tokens to entries. They are null in entries without such tokens. */
export function mediaColumns({ integer }: SchemaWords): readonly string[] {
  return MEDIA_COLUMNS.map((name) => `alter table {entries} add column ${name} ${integer}`)
}

/**
 * The host's limits, and the buckets that count them.
 *
 * - `limits` contains the host's definition as JSON. `owner_id` is the id of a credential, an account or an app.
 * - `limit_buckets` has one row for each bucket, for the period from `starts_at` to `ends_at`. `held` caches the sum of the
 *   open holds of that period, `used` that of its entries or, for requests, of its holds.
 * - `holds.limits` contains the parts of buckets that a hold accounts for, as JSON, or null if there are none.
 */
export function limitTables({ name, integer, keyed, busy }: SchemaWords): readonly string[] {
  return [
    `create table {limits} (
      id ${name} primary key,
      owner_kind text not null,
      owner_id ${name} not null,
      definition text not null,
      created_at ${integer} not null
    ) ${keyed}`,
    'create index compat_limits_owner on {limits} (owner_id, owner_kind)',
    `create table {limit_buckets} (
      id ${name} primary key,
      starts_at ${integer} not null,
      ends_at ${integer} not null,
      held ${integer} not null,
      used ${integer} not null
    ) ${busy}`,
    'create index compat_limit_buckets_end on {limit_buckets} (ends_at)',
    'alter table {holds} add column limits text',
  ]
}

/**
 * Kept calls, and the last use of each credential. No balance depends on either.
 *
 * - `calls` contains how requests ended. `is_problem` is 1 if a call did not complete or was not charged; few calls are, so
 *   the indexes for them cost the others nothing. `details` contains, as JSON, the values that have no column.
 * - `credential_uses` contains the minute of a credential's last use.
 */
export function callTables({ name, integer, serial, plain, busy }: SchemaWords): readonly string[] {
  return [
    `create table {calls} (
      seq ${serial},
      id ${name} not null,
      request_id ${name} not null,
      at ${integer} not null,
      operation ${name} not null,
      status ${integer} not null,
      outcome ${name} not null,
      is_problem ${integer} not null,
      account ${name},
      credential_id ${name},
      app_id ${name},
      model ${name},
      details text not null
    ) ${plain}`,
    'create unique index compat_calls_id on {calls} (id)',
    'create index compat_calls_request on {calls} (request_id)',
    'create index compat_calls_at on {calls} (at, seq)',
    // With the last columns, a search by two of these filters skips rows without reading them.
    'create index compat_calls_account on {calls} (account, at, seq, credential_id, model, app_id) where account is not null',
    'create index compat_calls_model on {calls} (model, at, seq, account) where model is not null',
    'create index compat_calls_app on {calls} (app_id, at, seq, account) where app_id is not null',
    'create index compat_calls_credential on {calls} (credential_id, at, seq) where credential_id is not null',
    ...[
      ['problem', 'at, seq'],
      ['problem_status', 'status, at, seq'],
      ['problem_outcome', 'outcome, at, seq'],
      ['problem_account', 'account, at, seq'],
      ['problem_credential', 'credential_id, at, seq'],
    ].map(
      ([index, columns]) => `create index compat_calls_${index} on {calls} (${columns}) where is_problem = 1`,
    ),
    `create table {credential_uses} (
      credential_id ${name} primary key,
      last_used_at ${integer} not null
    ) ${busy}`,
  ]
}

/**
 * Adds the models that an API key may use, as JSON; the cell is null if it may use all. Adds the charge that a refund
 * reverses.
 */
export function keyModelsAndRefunds({ integer }: SchemaWords): readonly string[] {
  return [
    'alter table {credentials} add column allowed_models text',
    `alter table {entries} add column refund_of ${integer}`,
    'create index compat_entries_refund on {entries} (refund_of) where refund_of is not null',
  ]
}

/**
 * Connect and sessions: users let apps spend.
 *
 * - `credentials.source` is `operator`, `connect` or `session`. `terms` are the models and the markup that were agreed to,
 *   as JSON; `ends_at` bounds all tokens. A session with a `parent_id` takes the terms and limits of that grant and ends
 *   with it. `origins` are those of the browser pages that may use the tokens, as JSON.
 * - `tokens` of a `connect` grant belong to a connection. Only an operator's credential has one live token at most.
 * - `connections` are the devices of a grant. Their id is that of the OAuth library's `Grant`.
 * - `oauth` contains the OAuth library's rows, found by the SHA-256 of their ids.
 * - `consents` is the append-only history of grants. `terms` are those that the user was shown, as JSON.
 *   `credentials.consent_id` is the latest one of a grant that set its terms.
 * - `apps.owner` edits the app. `name_key` is its name without regard to case and look-alikes.
 * - `app_edits` is the append-only history of apps. `fields` are the names of those that changed, as JSON.
 * - `app_reviews` contains the values that an owner wants for a live app, as JSON, until an operator decides.
 * - `app_logos` are kept apart, since each look-up of a credential reads `apps`. `bytes` is base64.
 */
export function connectTables({ name, integer, keyed, busy }: SchemaWords): readonly string[] {
  return [
    `alter table {credentials} add column source ${name} not null default 'operator'`,
    `alter table {credentials} add column ends_at ${integer}`,
    'alter table {credentials} add column terms text',
    `alter table {credentials} add column parent_id ${name}`,
    'alter table {credentials} add column origins text',
    `alter table {credentials} add column consent_id ${name}`,
    `create unique index compat_credentials_grant on {credentials} (account, app_id)
      where source = 'connect' and revoked_at is null`,
    `create index compat_credentials_app on {credentials} (app_id) where app_id is not null`,
    `create index compat_credentials_parent on {credentials} (parent_id) where parent_id is not null`,
    `alter table {tokens} add column connection_id ${name}`,
    'create index compat_tokens_expiry on {tokens} (expires_at) where expires_at is not null',
    'create index compat_tokens_connection on {tokens} (connection_id) where connection_id is not null',
    `create table {connections} (
      id ${name} primary key,
      credential_id ${name} not null,
      label text,
      created_at ${integer} not null,
      used_at ${integer},
      ended_at ${integer},
      reason text
    ) ${busy}`,
    'create index compat_connections_credential on {connections} (credential_id)',
    'create index compat_connections_ended on {connections} (ended_at) where ended_at is not null',
    `create table {oauth} (
      model ${name} not null,
      digest ${name} not null,
      connection_id ${name},
      payload text not null,
      consumed_at ${integer},
      expires_at ${integer} not null,
      primary key (model, digest)
    ) ${busy}`,
    'create index compat_oauth_connection on {oauth} (connection_id) where connection_id is not null',
    'create index compat_oauth_expiry on {oauth} (expires_at)',
    `create table {consents} (
      id ${name} primary key,
      credential_id ${name} not null,
      at ${integer} not null,
      done_by ${name} not null,
      kind text not null,
      terms text
    ) ${keyed}`,
    'create index compat_consents_credential on {consents} (credential_id, at, id)',
    `alter table {apps} add column owner ${name}`,
    `alter table {apps} add column state ${name} not null default 'live'`,
    `alter table {apps} add column name_key ${name}`,
    `alter table {apps} add column logo_hash ${name}`,
    'create unique index compat_apps_name on {apps} (name_key) where name_key is not null',
    'create index compat_apps_owner on {apps} (owner) where owner is not null',
    `create table {app_reviews} (
      app_id ${name} primary key,
      definition text not null,
      done_by ${name} not null,
      at ${integer} not null
    ) ${keyed}`,
    `create table {app_edits} (
      id ${name} primary key,
      app_id ${name} not null,
      at ${integer} not null,
      done_by ${name} not null,
      kind text not null,
      fields text
    ) ${keyed}`,
    'create index compat_app_edits_app on {app_edits} (app_id, id)',
    'create index compat_app_edits_by on {app_edits} (done_by, at)',
    `create table {app_logos} (
      app_id ${name} not null,
      hash ${name} not null,
      type text not null,
      bytes text not null,
      primary key (app_id, hash)
    ) ${keyed}`,
  ]
}

/**
 * The processes that take holds and leases.
 *
 * - `processes.beat` is incremented by its process every few seconds, and by nobody else.
 * - `holds.process` and `replies.process` contain the process that took an open hold or a lease. They are null if it does
 *   not keep them, as in earlier releases, and such a hold or lease ends by its time alone.
 */
export function processTables({ name, integer, busy }: SchemaWords): readonly string[] {
  return [
    `create table {processes} (
      id ${name} primary key,
      beat ${integer} not null
    ) ${busy}`,
    `alter table {holds} add column process ${name}`,
    `alter table {replies} add column process ${name}`,
    'create index compat_replies_process on {replies} (process) where done = 0',
  ]
}
