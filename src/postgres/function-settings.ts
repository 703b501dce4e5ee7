/**
 * The settings of every function of the ledger. The tables are large and the arrays small, so an index scan is always right,
 * and a plan that was made while the tables were small must not be kept.
 */
export const SETTINGS = `set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set jit = off`

/** The SQLSTATE of a batch whose process was cleared. The process takes a new id and repeats it. */
export const PROCESS_GONE = 'P0C01'

/** SQL for the server's time, in milliseconds since the Unix epoch. */
export const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'

/**
 * Waits for the disk even if the host's session has turned that off. Local to the transaction, and never weaker than the
 * host's setting.
 */
export const DURABLE = `if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;`
