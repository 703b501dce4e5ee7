/**
 * Expires at most `p_limit` overdue holds and returns them. Sweepers take turns, so each hold is returned only once.
 * Also deletes buckets whose period ended 60 days ago.
 *
 * Locks, in the order of a batch: the rows of the holds' accounts, then those of the holds' buckets. An account that
 * another transaction has locked is left to a later sweep. If all are locked, waits for one of them, and holds no other
 * lock meanwhile.
 */
export const expireHolds = `create function {expire_holds_1}(p_limit bigint)
returns table (id text, account text, amount bigint, facts text)
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
  v_due text[];
  v_accounts text[];
  v_buckets text[];
  v_locked text[];
begin
  -- Wait for the disk even if the host's session has turned that off. Local to the transaction.
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;

  -- One sweep at a time.
  perform pg_advisory_xact_lock(hashtextextended('{expire_holds_1}', 0));
  v_now := floor(extract(epoch from clock_timestamp()) * 1000)::bigint;
  select array_agg(d.id), array_agg(distinct d.account) into v_due, v_accounts from (
    select h.id, h.account from {holds} h where h.state = 0 and h.expires_at <= v_now
    order by h.expires_at limit p_limit
  ) d;

  if v_due is not null then
    -- Lock the accounts that are free, and keep only their holds.
    v_locked := array(
      select a.id from {accounts} a where a.id = any (v_accounts) for no key update skip locked
    );
    if cardinality(v_locked) = 0 then
      v_locked := array(select a.id from {accounts} a where a.id = v_accounts[1] for no key update);
    end if;
    v_due := array(
      select h.id from {holds} h where h.id = any (v_due) and not exists (
        select from {accounts} a where a.id = h.account and a.id <> all (v_locked)
      )
    );

    -- Lock the buckets that these holds account for.
    v_buckets := array(
      select distinct p.value ->> 0 from {holds} h cross join json_array_elements(h.limits::json) p(value)
      where h.id = any (v_due) and h.limits is not null
    );
    if cardinality(v_buckets) > 0 then
      perform from {limit_buckets} b where b.id = any (v_buckets) order by b.id for no key update;
    end if;

    -- End the holds, and give their amounts back to the accounts and to the buckets that still count their period.
    return query
      with ended as (
        update {holds} h set state = 3, ended_at = v_now from unnest(v_due) d(id)
        where h.id = d.id and h.state = 0
        returning h.id, h.account, h.amount, h.facts, h.limits
      ), freed as (
        update {accounts} a set held = a.held - e.amount
        from (select account, sum(amount)::bigint as amount from ended group by account) e where a.id = e.account
      ), returned as (
        update {limit_buckets} b set held = b.held - d.held
        from (
          select p.value ->> 0 as bucket, (p.value ->> 2)::bigint as starts_at, sum((p.value ->> 3)::bigint)::bigint as held
          from ended e cross join json_array_elements(e.limits::json) p(value)
          where e.limits is not null and p.value ->> 1 <> 'requests'
          group by 1, 2
        ) d
        where b.id = d.bucket and b.starts_at = d.starts_at
      )
      select e.id, e.account, e.amount, e.facts from ended e;
  end if;

  -- Skip buckets that a batch has locked: one that has created a bucket is about to use it.
  delete from {limit_buckets} b where b.id in (
    select b.id from {limit_buckets} b where b.ends_at < v_now - 5184000000 limit 1000 for update skip locked
  );
end
$function$`
