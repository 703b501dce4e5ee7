import { ACCOUNT_SUMS, CHARGE_SUMS, POSTING_SUMS } from './total-columns.js'

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
  /** Both. */
  readonly busyKeyed: string
  /** Ends the definition of every other table. */
  readonly plain: string
}

/** All tables that both engines have. Amounts are in 10^-9 credit, times in milliseconds since the Unix epoch. */
export function tables(words: SchemaWords): readonly string[] {
  return [
    ...ledgerTables(words),
    ...totalTables(words),
    ...limitTables(words),
    ...processTables(words),
    ...credentialTables(words),
    ...appTables(words),
    ...connectTables(words),
    ...catalogueTables(words),
    ...replyTables(words),
    ...callTables(words),
    ...auditTable(words),
  ]
}

/**
 * - `accounts` caches the sums of `postings`, apart from earnings in slots (see `postedOf`), and of open `holds`. All change
 *   in one transaction.
 * - `holds.state` is 0 for open, 1 for released, 2 for settled and 3 for expired. An open hold whose `expires_at` has passed
 *   counts as expired. `facts` and `entries.details` contain, as JSON, the values that have no column. `limits` contains the
 *   parts of buckets that a hold accounts for, as JSON, or null if there are none. `process` is the process that keeps an
 *   open hold, or null if none does; such a hold ends by its time alone.
 * - `claims` contains the hold that last took each claim. The claim is taken while that hold is open or settled.
 * - `entries` and `postings` are append-only. An entry contains its postings as JSON for its reader; the table serves to
 *   find and sum an account's history. `posted` is the amount of the posting to the entry's own account, or 0 if there is
 *   none, so that reports read no postings. Counts of audio and image tokens are null if there are none. `refund_of` is the
 *   charge that a refund reverses.
 */
function ledgerTables({ name, integer, serial, keyed, busy, plain }: SchemaWords): readonly string[] {
  return [
    `create table {accounts} (
      id ${name} primary key,
      posted ${integer} not null default 0,
      held ${integer} not null default 0,
      suspended_at ${integer},
      created_at ${integer} not null
    ) ${busy}`,
    'create index compat_accounts_lower on {accounts} (lower(id))',
    `create table {holds} (
      id ${name} primary key,
      account ${name} not null,
      amount ${integer} not null check (amount >= 0),
      steps ${integer},
      state ${integer} not null,
      expires_at ${integer} not null,
      ended_at ${integer},
      claim ${name},
      replaces ${name},
      entry_id ${integer},
      facts text,
      limits text,
      process ${name}
    ) ${busy}`,
    'create index compat_holds_due on {holds} (expires_at) where state = 0',
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
      posted ${integer} not null,
      postings text not null,
      details text,
      audio_input ${integer},
      audio_output ${integer},
      image_input ${integer},
      image_output ${integer},
      refund_of ${integer}
    ) ${plain}`,
    'create index compat_entries_at on {entries} (at, id)',
    'create index compat_entries_model on {entries} (model, at, id) where model is not null',
    'create index compat_entries_app on {entries} (app_id, at, id) where app_id is not null',
    'create index compat_entries_session on {entries} (session_id, at, id) where session_id is not null',
    'create unique index compat_entries_reference on {entries} (reference) where reference is not null',
    // Few entries are no charges, so it costs a charge nothing.
    "create index compat_entries_payments on {entries} (at, id) where kind <> 'charge'",
    'create index compat_entries_refund on {entries} (refund_of) where refund_of is not null',
    `create table {postings} (
      account ${name} not null,
      at ${integer} not null,
      entry_id ${integer} not null,
      amount ${integer} not null,
      primary key (account, at, entry_id)
    ) ${keyed}`,
  ]
}

/**
 * Sums of entries, so that reports need not read them all. Settlements never touch them: another transaction adds the
 * entries later (`totals.ts`), and a report reads the totals and the entries that they do not contain yet.
 *
 * - `charge_totals` are the charges of a time, model, provider and app. `span` is the length of the time: a quarter of an
 *   hour or a day. `provider` and `app_id` may be empty.
 * - `account_totals` are the charges and refunds of a day, account, key, app, model and provider, and `key_totals` those of a
 *   month, account and key.
 * - `posting_totals` are the postings of a day, account and app, without those of its own charges.
 * - `verified` has one row at most: all days before this time were verified.
 */
function totalTables({ name, integer, busy, busyKeyed, plain }: SchemaWords): readonly string[] {
  const sums = (columns: readonly string[]) =>
    columns.map((column) => `${column} ${integer} not null`).join(',\n      ')
  return [
    `create table {charge_totals} (
      span ${integer} not null,
      starts_at ${integer} not null,
      model ${name} not null,
      provider ${name} not null,
      app_id ${name} not null,
      ${sums(CHARGE_SUMS)},
      primary key (span, starts_at, model, provider, app_id)
    ) ${busy}`,
    `create table {account_totals} (
      account ${name} not null,
      starts_at ${integer} not null,
      credential_id ${name} not null,
      app_id ${name} not null,
      model ${name} not null,
      provider ${name} not null,
      ${sums(ACCOUNT_SUMS)},
      primary key (account, starts_at, credential_id, app_id, model, provider)
    ) ${busyKeyed}`,
    'create index compat_account_totals_at on {account_totals} (starts_at)',
    `create table {key_totals} (
      account ${name} not null,
      starts_at ${integer} not null,
      credential_id ${name} not null,
      ${sums(ACCOUNT_SUMS)},
      primary key (account, starts_at, credential_id)
    ) ${busyKeyed}`,
    'create index compat_key_totals_at on {key_totals} (starts_at)',
    `create table {posting_totals} (
      account ${name} not null,
      app_id ${name} not null,
      starts_at ${integer} not null,
      ${sums(POSTING_SUMS)},
      primary key (account, app_id, starts_at)
    ) ${busyKeyed}`,
    'create index compat_posting_totals_at on {posting_totals} (starts_at)',
    `create table {verified} (until ${integer} not null) ${plain}`,
  ]
}

/**
 * The host's limits, and the buckets that count them.
 *
 * - `limits` contains the host's definition as JSON. `owner_id` is the id of a credential, an account or an app.
 * - `limit_buckets` has one row for each bucket, for the period from `starts_at` to `ends_at`. `held` caches the sum of the
 *   open holds of that period, `used` that of its entries or, for requests, of its holds.
 */
function limitTables({ name, integer, keyed, busy }: SchemaWords): readonly string[] {
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
  ]
}

/**
 * The processes that take holds and leases. `beat` is incremented by its process every few seconds, and by nobody else.
 */
function processTables({ name, integer, busy }: SchemaWords): readonly string[] {
  return [
    `create table {processes} (
      id ${name} primary key,
      beat ${integer} not null
    ) ${busy}`,
  ]
}

/**
 * - `credentials` are keys and connected apps. `source` is `operator`, `connect` or `session`. `allowed_models` are the
 *   models that an API key may use, as JSON, or null for all. `terms` are the models and the markup that were agreed to,
 *   as JSON; `ends_at` bounds all tokens. A session with a `parent_id` takes the terms and limits of that connected app
 *   and ends with it. `origins` are those of the browser pages that may use the tokens, as JSON. `consent_id` is the
 *   latest consent that set the terms of a connected app.
 * - `tokens` are their bearer tokens: a new token of a connected app may have fewer scopes. Those of a connected app
 *   belong to a connection. Only an operator's credential has one live token at most.
 * - `credential_uses` contains the minute of a credential's last use.
 */
function credentialTables({ name, integer, keyed, busy }: SchemaWords): readonly string[] {
  return [
    `create table {credentials} (
      id ${name} primary key,
      kind text not null,
      account ${name} not null,
      app_id ${name},
      label ${name},
      scopes text,
      metadata text,
      revoked_at ${integer},
      created_at ${integer} not null,
      allowed_models text,
      source ${name} not null default 'operator',
      ends_at ${integer},
      terms text,
      parent_id ${name},
      origins text,
      consent_id ${name}
    ) ${keyed}`,
    'create index compat_credentials_account on {credentials} (account)',
    'create index compat_credentials_label on {credentials} (lower(label)) where label is not null',
    'create index compat_credentials_app on {credentials} (app_id) where app_id is not null',
    'create index compat_credentials_parent on {credentials} (parent_id) where parent_id is not null',
    `create unique index compat_credentials_grant on {credentials} (account, app_id)
      where source = 'connect' and revoked_at is null`,
    `create table {tokens} (
      digest ${name} primary key,
      credential_id ${name} not null,
      prefix text not null,
      last_four text not null,
      scopes text,
      expires_at ${integer},
      revoked_at ${integer},
      created_at ${integer} not null,
      connection_id ${name}
    ) ${keyed}`,
    'create index compat_tokens_credential on {tokens} (credential_id)',
    'create index compat_tokens_expiry on {tokens} (expires_at) where expires_at is not null',
    'create index compat_tokens_connection on {tokens} (connection_id) where connection_id is not null',
    `create table {credential_uses} (
      credential_id ${name} primary key,
      last_used_at ${integer} not null
    ) ${busy}`,
  ]
}

/**
 * - `apps` contains the host's definition as JSON. `owner` edits the app. `name_key` is its name without regard to case and
 *   look-alikes.
 * - `app_reviews` contains the values that an owner wants for a live app, as JSON, until an operator decides.
 * - `app_edits` is the append-only history of apps. `fields` are the names of those that changed, as JSON.
 * - `app_logos` are kept apart, since each look-up of a credential reads `apps`. `bytes` is base64.
 */
function appTables({ name, integer, keyed }: SchemaWords): readonly string[] {
  return [
    `create table {apps} (
      id ${name} primary key,
      definition text not null,
      suspended_at ${integer},
      created_at ${integer} not null,
      owner ${name},
      state ${name} not null default 'live',
      name_key ${name},
      logo_hash ${name}
    ) ${keyed}`,
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
      done_as text not null,
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
 * Connect: users let apps spend.
 *
 * - `connections` are the devices of a connected app. Their id is that of the OAuth library's `Grant`.
 * - `oauth` contains the OAuth library's rows, found by the SHA-256 of their ids.
 * - `consents` is the append-only history of connected apps. `terms` are those that the user was shown, as JSON.
 */
function connectTables({ name, integer, keyed, busy }: SchemaWords): readonly string[] {
  return [
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
    'create index compat_connections_unused on {connections} (created_at) where used_at is null',
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
      done_as text not null,
      kind text not null,
      terms text
    ) ${keyed}`,
    'create index compat_consents_credential on {consents} (credential_id, at, id)',
  ]
}

/** `models` and `routes` contain the host's definition as JSON. A route's secret is sealed in its own column. */
function catalogueTables({ name, integer, keyed }: SchemaWords): readonly string[] {
  return [
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
  ]
}

/**
 * - `replies` contains the replies to calls with an `Idempotency-Key`. Until a call is `done`, its row is a lease, and
 *   `process` is the process that keeps it, or null if none does; such a lease ends by its time alone.
 * - `reply_totals` contains the total size of each account's stored bodies, so that nobody has to sum them. Triggers keep it
 *   right whoever writes replies.
 */
function replyTables({ name, integer, keyed, busy }: SchemaWords): readonly string[] {
  return [
    `create table {replies} (
      claim ${name} primary key,
      account ${name} not null,
      digest text not null,
      done ${integer} not null,
      expires_at ${integer} not null,
      size_bytes ${integer} not null,
      reply text,
      process ${name},
      lease ${name}
    ) ${keyed}`,
    'create index compat_replies_expiry on {replies} (expires_at)',
    'create index compat_replies_process on {replies} (process) where done = 0',
    `create table {reply_totals} (
      account ${name} primary key,
      size_bytes ${integer} not null
    ) ${busy}`,
  ]
}

/**
 * Who changed money, keys, limits, routes and models. It is append-only, and nothing reads it but people. The changes of
 * apps are in `app_edits`, those of connected apps in `consents`.
 */
function auditTable({ name, integer, plain }: SchemaWords): readonly string[] {
  return [
    `create table {audit} (
      id ${name} primary key,
      at ${integer} not null,
      done_by ${name} not null,
      done_as ${name} not null,
      noun ${name} not null,
      subject_id ${name} not null,
      kind ${name} not null,
      account ${name},
      details text
    ) ${plain}`,
    'create index compat_audit_subject on {audit} (subject_id, id)',
    'create index compat_audit_by on {audit} (done_by, id)',
    'create index compat_audit_account on {audit} (account, id) where account is not null',
  ]
}

/**
 * How requests ended. No balance depends on it. `is_problem` is 1 if a call did not complete or was not charged; few calls
 * are, so the indexes for them cost the others nothing. `details` contains, as JSON, the values that have no column.
 */
function callTables({ name, integer, serial, plain }: SchemaWords): readonly string[] {
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
    'create index compat_calls_problem on {calls} (at, seq) where is_problem = 1',
    'create index compat_calls_problem_status on {calls} (status, at, seq) where is_problem = 1',
    'create index compat_calls_problem_outcome on {calls} (outcome, at, seq) where is_problem = 1',
    'create index compat_calls_problem_account on {calls} (account, at, seq) where is_problem = 1',
    'create index compat_calls_problem_credential on {calls} (credential_id, at, seq) where is_problem = 1',
  ]
}
