/**
 * How every function of the ledger is run: the tables are large and the arrays small, so that an index is always right, and a
 * plan that was made while the tables were young must not stay.
 */
export const SETTINGS = `set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set jit = off`

/** Milliseconds since the Unix epoch on the server's clock. */
export const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'

/**
 * A host's session may have turned off the wait for the disk. Local to the transaction, and never less than what the
 * host asks for.
 */
export const DURABLE = `if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;`
