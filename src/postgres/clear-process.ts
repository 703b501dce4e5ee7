/**
 * Deletes a process if its beat has not moved, or in any case if no beat is given. Its open holds and leases expire at
 * once. Returns a row only if this call has deleted it.
 *
 * Locks the row of the process. A batch that takes holds for the process locks it too, so the deletion waits for that
 * batch, and no later batch can take a hold under the id. The statements after the deletion see all its holds. All
 * processes together have few open holds, so this needs no index.
 */
export const clearProcess = `create function {clear_process_1}(p_id text, p_beat bigint)
returns table (holds bigint, leases bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set lock_timeout = '1s'
as $function$
#variable_conflict use_column
-- holds.state: 0 open, 1 released, 2 settled, 3 expired.
declare
  v_now bigint;
begin
  -- Wait for the disk even if the host's session has turned that off. Local to the transaction.
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;

  delete from {processes} p where p.id = p_id and (p_beat is null or p.beat = p_beat);
  if not found then
    return;
  end if;

  v_now := floor(extract(epoch from clock_timestamp()) * 1000)::bigint;
  update {holds} h set expires_at = v_now
  where h.state = 0 and h.expires_at > v_now and h.process = p_id;
  get diagnostics holds = row_count;
  update {replies} r set expires_at = v_now where r.process = p_id and r.done = 0 and r.expires_at > v_now;
  get diagnostics leases = row_count;
  return next;
end
$function$`
