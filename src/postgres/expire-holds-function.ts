import { HOLD_STATE } from '../sql/hold-states.js'
import { DURABLE, NOW, SETTINGS } from './function-settings.js'

const { open, expired } = HOLD_STATE

/** Expires overdue holds. Sweepers take turns, so each hold is returned only once. */
export const expireHoldsFunction = `create function {expire_holds_1}(p_limit bigint)
returns table (id text, account text, amount bigint, facts text)
language plpgsql
${SETTINGS}
as $function$
#variable_conflict use_column
declare
  v_now bigint;
  v_due text[];
  v_accounts text[];
begin
  ${DURABLE}
  perform pg_advisory_xact_lock(hashtextextended('{expire_holds_1}', 0));
  v_now := ${NOW};
  select array_agg(d.id), array_agg(distinct d.account) into v_due, v_accounts from (
    select h.id, h.account from {holds} h where h.state = ${open} and h.expires_at <= v_now
    order by h.expires_at limit p_limit
  ) d;
  if v_due is null then return; end if;
  perform from {accounts} a where a.id = any (v_accounts) order by a.id for no key update;
  return query
    with ended as (
      update {holds} h set state = ${expired}, ended_at = v_now from unnest(v_due) d(id)
      where h.id = d.id and h.state = ${open}
      returning h.id, h.account, h.amount, h.facts
    ), freed as (
      update {accounts} a set held = a.held - e.amount
      from (select account, sum(amount)::bigint as amount from ended group by account) e where a.id = e.account
    )
    select e.id, e.account, e.amount, e.facts from ended e;
end
$function$`
