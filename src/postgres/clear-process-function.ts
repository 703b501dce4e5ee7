import { HOLD_STATE } from '../sql/hold-states.js'
import { DURABLE, NOW, SETTINGS } from './function-settings.js'

/**
 * Deletes a process whose beat has not moved, or, without a beat, whatever its beat is. Its open holds and leases expire at
 * once. Returns a row only if this call has deleted it.
 *
 * The deletion waits for the batches of that process. The statements after it see their holds, and no later batch can take
 * one under the id. The open holds of all processes are few, so they need no index of their own for this.
 */
export const clearProcessFunction = `create function {clear_process_1}(p_id text, p_beat bigint)
returns table (holds bigint, leases bigint)
language plpgsql
${SETTINGS}
set lock_timeout = '1s'
as $function$
#variable_conflict use_column
declare
  v_now bigint;
begin
  ${DURABLE}
  delete from {processes} p where p.id = p_id and (p_beat is null or p.beat = p_beat);
  if not found then
    return;
  end if;
  v_now := ${NOW};
  update {holds} h set expires_at = v_now
  where h.state = ${HOLD_STATE.open} and h.expires_at > v_now and h.process = p_id;
  get diagnostics holds = row_count;
  update {replies} r set expires_at = v_now where r.process = p_id and r.done = 0 and r.expires_at > v_now;
  get diagnostics leases = row_count;
  return next;
end
$function$`
