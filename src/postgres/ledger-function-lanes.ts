import { HOLD_STATE } from '../sql/hold-states.js'
import { NOW } from './function-settings.js'
import { BUCKETS_OF_HOLDS, CREATE_BUCKETS } from './ledger-function-limits.js'

const { released } = HOLD_STATE

/**
 * Waits for the rows that the batch was made for. It holds no other lock meanwhile, so that no other account waits with it,
 * and no two batches can deadlock.
 */
const AWAIT_ROWS = `if cardinality(p_awaited_accounts) > 0 then
    perform from {accounts} a where a.id = any (p_awaited_accounts) order by a.id for no key update;
  end if;
  if cardinality(p_awaited_buckets) > 0 then
    perform from {limit_buckets} b where b.id = any (p_awaited_buckets) order by b.id for no key update;
  end if;`

/**
 * Locks the accounts that pay. Those that another transaction has locked are busy. An account is created by its first
 * posting. Another process may create it at the same time, and may have locked it by then.
 */
const LOCK_ACCOUNTS = `v_locked := array(
    select a.id from {accounts} a where a.id = any (p_accounts) for no key update skip locked
  );
  if cardinality(v_locked) < cardinality(p_accounts) then
    v_absent := array(select unnest(p_accounts) except select unnest(v_locked));
    v_busy_accounts := array(select a.id from {accounts} a where a.id = any (v_absent));
    v_absent := array(select unnest(v_absent) except select unnest(v_busy_accounts));
  end if;
  insert into {accounts} (id, created_at)
  select p.id, ${NOW} from (
    select unnest(p_creditors) as id
    union select p.account from unnest(p_posting_accounts) p(account) where p.account = any (v_absent)
  ) p
  where not exists (select from {accounts} a where a.id = p.id)
  order by 1 on conflict do nothing;
  if cardinality(v_absent) > 0 then
    v_locked := array(select a.id from {accounts} a where a.id = any (v_absent) for no key update skip locked);
    v_busy_accounts := v_busy_accounts || array(
      select a.id from {accounts} a where a.id = any (v_absent) and a.id <> all (v_locked)
    );
  end if;`

/** Reports a busy command. The loop around it has set its place and the row that it waits for. */
function answerBusy(kind: 'release' | 'settlement' | 'hold'): string {
  return `kind := 'busy-${kind}';
      return next;`
}

/** Takes a busy command out of the batch: later steps find no hold with its id. */
const LEAVE_OUT_RELEASE = `continue when p_released[place] is null;
      p_released[place] := null;
      v_busy_releases := v_busy_releases + 1;
      ${answerBusy('release')}`

const LEAVE_OUT_SETTLEMENT = `continue when p_hold_id[place] is null;
      p_hold_id[place] := null;
      v_busy_settlements := v_busy_settlements + 1;
      ${answerBusy('settlement')}`

/** The other holds of its group are taken one by one, since the group's total includes it. */
const LEAVE_OUT_HOLD = `continue when p_holds[place] is null;
      p_holds[place] := null;
      p_replaces[place] := null;
      if p_hold_groups[place] > 0 then p_group_totals[p_hold_groups[place]] := null; end if;
      for v_place in p_first_limits[place] .. p_last_limits[place] loop p_limit_amounts[v_place] := 0; end loop;
      ${answerBusy('hold')}`

const LEAVE_OUT_BUSY_ACCOUNTS = `if cardinality(v_busy_accounts) > 0 then
    for place, awaited in
      select r.place, 'account:' || r.account from unnest(p_release_accounts) with ordinality r(account, place)
      where r.account = any (v_busy_accounts)
    loop
      ${LEAVE_OUT_RELEASE}
    end loop;
    for place, awaited in
      select s.place, 'account:' || s.account from unnest(p_account) with ordinality s(account, place)
      where s.account = any (v_busy_accounts)
      union all
      select p.settlement, 'account:' || p.account
      from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
      where p.amount < 0 and p.account = any (v_busy_accounts)
    loop
      ${LEAVE_OUT_SETTLEMENT}
    end loop;
    for place, awaited in
      select h.place, 'account:' || h.account from unnest(p_hold_accounts) with ordinality h(account, place)
      where h.account = any (v_busy_accounts)
    loop
      ${LEAVE_OUT_HOLD}
    end loop;
  end if;`

/** A bucket that no hold counts in may be missing. Then there is nothing to give back. */
const LOCK_BUCKETS = `v_buckets := p_buckets;
  ${BUCKETS_OF_HOLDS}
  if cardinality(v_buckets) > 0 then
    v_locked := array(
      select b.id from {limit_buckets} b where b.id = any (v_buckets) for no key update skip locked
    );
    if cardinality(v_locked) < cardinality(v_buckets) then
      ${CREATE_BUCKETS}
      v_locked := array(
        select b.id from {limit_buckets} b where b.id = any (v_buckets) for no key update skip locked
      );
      v_busy_buckets := array(
        select m.id from (select unnest(v_buckets) except select unnest(v_locked)) m(id)
        where exists (select from {limit_buckets} b where b.id = m.id)
          or m.id in (select p_buckets[l.place] from unnest(p_limit_buckets) l(place))
      );
    end if;
  end if;`

/** SQL for the places of holds that other commands name, with the busy buckets that those holds account for. */
function busyBucketsOf(names: string): string {
  return `select n.place, 'bucket:' || (p.value ->> 0)
      from unnest(${names}) with ordinality n(id, place) join {holds} h on h.id = n.id
        cross join json_array_elements(h.limits::json) p(value)
      where h.state < ${released} and h.limits is not null and p.value ->> 0 = any (v_busy_buckets)`
}

const LEAVE_OUT_BUSY_BUCKETS = `if cardinality(v_busy_buckets) > 0 then
    for place, awaited in ${busyBucketsOf('p_released')}
    loop
      ${LEAVE_OUT_RELEASE}
    end loop;
    for place, awaited in
      select u.settlement, 'bucket:' || p_buckets[u.bucket] from unnest(p_use_settlements, p_use_buckets) u(settlement, bucket)
      where p_buckets[u.bucket] = any (v_busy_buckets)
    loop
      ${LEAVE_OUT_SETTLEMENT}
    end loop;
    for place, awaited in
      select l.hold, 'bucket:' || p_buckets[l.bucket] from unnest(p_limit_holds, p_limit_buckets) l(hold, bucket)
      where p_buckets[l.bucket] = any (v_busy_buckets)
      union all ${busyBucketsOf('p_replaces')}
    loop
      ${LEAVE_OUT_HOLD}
    end loop;
  end if;`

/** Locks the rows of all commands that need no busy row, and takes the other commands out of the batch. */
export const LOCK_FREE_ROWS = `${AWAIT_ROWS}
  ${LOCK_ACCOUNTS}
  ${LEAVE_OUT_BUSY_ACCOUNTS}
  ${LOCK_BUCKETS}
  ${LEAVE_OUT_BUSY_BUCKETS}
  awaited := null;`

/** Variables of {@link LOCK_FREE_ROWS} and {@link EARN}. */
export const LANE_VARIABLES = `v_locked text[];
  v_absent text[] := '{}';
  v_busy_accounts text[] := '{}';
  v_busy_buckets text[] := '{}';
  v_busy_releases bigint := 0;
  v_busy_settlements bigint := 0;
  v_slot int := 0;
  v_is_large boolean;`

const EARNED_POSTINGS = `unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
      where p.amount > 0 and v_entries[p.settlement] is not null`

/** Below these amounts, a balance with a thousand slots is within 64 bits. */
const LARGE_SLOT = 2n ** 52n
const LARGE_BALANCE = 2n ** 62n
const MAX_BALANCE = 2n ** 63n - 1n

/**
 * Adds credits that are earned to the first slot that no other batch uses, so that no two batches wait for the same row.
 * There are as many slots as there were batches at once.
 */
export const EARN = `if exists (select from ${EARNED_POSTINGS}) then
      while not pg_try_advisory_xact_lock(hashtext('{earned}'), v_slot) loop v_slot := v_slot + 1; end loop;
      with changed as (
        insert into {earned} as e (account, slot, amount)
        select p.account, v_slot, sum(p.amount)::bigint from ${EARNED_POSTINGS}
        group by p.account order by p.account
        on conflict (account, slot) do update set amount = e.amount + excluded.amount
        returning e.account, e.amount
      )
      select exists (
        select from changed c join {accounts} a on a.id = c.account
        where c.amount > ${LARGE_SLOT} or a.posted > ${LARGE_BALANCE}
      ) into v_is_large;
      if v_is_large and exists (
        select from (select distinct p.account from ${EARNED_POSTINGS}) p join {accounts} a on a.id = p.account
        where a.posted + (select sum(e.amount) from {earned} e where e.account = a.id) > ${MAX_BALANCE}
      ) then
        raise exception 'A balance would exceed 64 bits' using errcode = 'numeric_value_out_of_range';
      end if;
    end if;`

/** SQL for what an account has earned in slots. Its other earnings are in its row. */
export function earnedBy(account: string): string {
  return `(select coalesce(sum(e.amount), 0) from {earned} e where e.account = ${account})`
}

/** The table of {@link EARN}. Its rows change in place many times a second. */
export const earnedTable = `create table {earned} (
    account text collate "C" not null,
    slot int not null,
    amount bigint not null,
    primary key (account, slot)
  ) with (fillfactor = 70)`
