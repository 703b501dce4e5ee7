import { KEEP_BUCKET_MS } from '../contracts/limit-buckets.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import { DURABLE, NOW, SETTINGS } from './function-settings.js'
import { freeBuckets } from './ledger-function-limits.js'

const { open, expired } = HOLD_STATE

/** Expires overdue holds. Sweepers take turns, so each hold is returned only once. */
function expireHolds(create: string, hasLimits: boolean, hasLanes: boolean): string {
  return `${create} function {expire_holds_1}(p_limit bigint)
returns table (id text, account text, amount bigint, facts text)
language plpgsql
${SETTINGS}
as $function$
#variable_conflict use_column
declare
  v_now bigint;
  v_due text[];
  v_accounts text[];
  ${hasLimits ? 'v_buckets text[];' : ''}${hasLanes ? '\n  v_locked text[];' : ''}
begin
  ${DURABLE}
  perform pg_advisory_xact_lock(hashtextextended('{expire_holds_1}', 0));
  v_now := ${NOW};
  select array_agg(d.id), array_agg(distinct d.account) into v_due, v_accounts from (
    select h.id, h.account from {holds} h where h.state = ${open} and h.expires_at <= v_now
    order by h.expires_at limit p_limit
  ) d;
  if v_due is null then
    ${hasLimits ? DELETE_BUCKETS : ''}
    return;
  end if;
  ${hasLanes ? LOCK_FREE_ACCOUNTS : 'perform from {accounts} a where a.id = any (v_accounts) order by a.id for no key update;'}
  ${hasLimits ? LOCK_BUCKETS : ''}
  return query
    with ended as (
      update {holds} h set state = ${expired}, ended_at = v_now from unnest(v_due) d(id)
      where h.id = d.id and h.state = ${open}
      returning h.id, h.account, h.amount, h.facts${hasLimits ? ', h.limits' : ''}
    ), freed as (
      update {accounts} a set held = a.held - e.amount
      from (select account, sum(amount)::bigint as amount from ended group by account) e where a.id = e.account
    )${hasLimits ? `, returned as (${freeBuckets('(select e.limits from ended e)')})` : ''}
    select e.id, e.account, e.amount, e.facts from ended e;
  ${hasLimits ? DELETE_BUCKETS : ''}
end
$function$`
}

/**
 * Skips buckets that a batch has locked, because a batch that has created one is about to use it. Comes after the locks of
 * accounts, as in a batch.
 */
const DELETE_BUCKETS = `delete from {limit_buckets} b where b.id in (
    select b.id from {limit_buckets} b where b.ends_at < v_now - ${KEEP_BUCKET_MS} limit 1000 for update skip locked
  );`

/**
 * Leaves the holds of locked accounts to a later sweep. If all accounts are locked, waits for one of them, and holds no other
 * lock meanwhile.
 */
const LOCK_FREE_ACCOUNTS = `v_locked := array(
    select a.id from {accounts} a where a.id = any (v_accounts) for no key update skip locked
  );
  if cardinality(v_locked) = 0 then
    v_locked := array(select a.id from {accounts} a where a.id = v_accounts[1] for no key update);
  end if;
  v_due := array(
    select h.id from {holds} h where h.id = any (v_due) and not exists (
      select from {accounts} a where a.id = h.account and a.id <> all (v_locked)
    )
  );`

/** In the order of a batch: accounts, then buckets. */
const LOCK_BUCKETS = `v_buckets := array(
    select distinct p.value ->> 0 from {holds} h cross join json_array_elements(h.limits::json) p(value)
    where h.id = any (v_due) and h.limits is not null
  );
  if cardinality(v_buckets) > 0 then
    perform from {limit_buckets} b where b.id = any (v_buckets) order by b.id for no key update;
  end if;`

export const expireHoldsFunction = expireHolds('create', false, false)

/**
 * Replaces the function by one that also frees the buckets of limits. It keeps its name, because earlier releases that run
 * beside this one expire the holds of this one.
 */
export const expireHoldsAndLimitsFunction = expireHolds('create or replace', true, false)

/** Replaces the function by one that slows no other account while one is locked. */
export const expireFreeHoldsFunction = expireHolds('create or replace', true, true)
