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
  if cardinality(p_creditors) > 0 or cardinality(v_absent) > 0 then
    insert into {accounts} (id, created_at)
    select p.id, ${NOW} from (
      select unnest(p_creditors) as id
      union select p.account from unnest(p_posting_accounts) p(account)
      where cardinality(v_absent) > 0 and p.account = any (v_absent)
    ) p
    where not exists (select from {accounts} a where a.id = p.id)
    order by 1 on conflict do nothing;
  end if;
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
      if p_replaces[place] is not null then p_replaces[place] := null; end if;
      if p_hold_groups[place] > 0 then p_group_totals[p_hold_groups[place]] := null; end if;
      for v_place in coalesce(p_first_limits[place], 1) .. coalesce(p_last_limits[place], 0) loop
        p_limit_amounts[v_place] := 0;
      end loop;
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

/** Variables of {@link LOCK_FREE_ROWS} and {@link MOVE_CREDITS}. */
export const LANE_VARIABLES = `v_locked text[];
  v_absent text[] := '{}';
  v_busy_accounts text[] := '{}';
  v_busy_buckets text[] := '{}';
  v_busy_releases bigint := 0;
  v_busy_settlements bigint := 0;
  v_slot int := 0;
  v_overdrawn text[];
  v_is_large boolean;`

/** Below these amounts, a balance with a thousand slots is within 64 bits. */
const LARGE_SLOT = 2n ** 52n
const LARGE_BALANCE = 2n ** 62n
const MAX_BALANCE = 2n ** 63n - 1n

/**
 * Changes the row of each account once, by all its debits and freed holds. Payers are included with zero, so that each is
 * read. Credits that are earned go to the first slot that no other batch uses, so that no two batches wait for the same row.
 * There are as many slots as there were batches at once. Only payers whose row is below zero may be below zero.
 */
export const MOVE_CREDITS = `if cardinality(p_creditors) > 0 then
      while not pg_try_advisory_xact_lock(hashtext('{earned}'), v_slot) loop v_slot := v_slot + 1; end loop;
    end if;
    with moved as materialized (
      select x.account, sum(x.spent) as spent, sum(x.freed) as freed, sum(x.earned) as earned from (
        select p.account, case when p.amount < 0 then p.amount end as spent, 0::bigint as freed,
          case when p.amount > 0 then p.amount end as earned
        from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
        where v_entries[p.settlement] is not null
        union all
        select o.account, 0::bigint, o.amount, null::bigint from unnest(v_open_accounts, v_open_amounts) o(account, amount)
        union all
        select s.id, 0::bigint, 0::bigint, null::bigint from unnest(p_payers) s(id) where s.id <> all (v_busy_accounts)
      ) x group by x.account
    ), filled as (
      insert into {earned} as e (account, slot, amount)
      select m.account, v_slot, m.earned::bigint from moved m where m.earned is not null
      on conflict (account, slot) do update set amount = e.amount + excluded.amount
      returning e.account, e.amount
    ), changed as (
      update {accounts} a set posted = a.posted + m.spent::bigint, held = a.held - m.freed::bigint
      from moved m where a.id = m.account and m.spent is not null
      returning a.id, a.posted
    )
    select array(select c.id from changed c where c.posted < 0), exists (
      select from filled f join {accounts} a on a.id = f.account
      where f.amount > ${LARGE_SLOT} or a.posted > ${LARGE_BALANCE}
    ) into v_overdrawn, v_is_large;
    if v_is_large and exists (
      select from unnest(p_creditors) p(id) join {accounts} a on a.id = p.id
      where a.posted + ${earnedBy('p.id')} > ${MAX_BALANCE}
    ) then
      raise exception 'A balance would exceed 64 bits' using errcode = 'numeric_value_out_of_range';
    end if;
    if cardinality(v_overdrawn) > 0 then
      return query
        select 'balance'::text, s.place, b.posted, null::numeric, null::bigint, null::bigint[], null::text
        from (
          select a.id, (a.posted + ${earnedBy('a.id')})::bigint as posted from {accounts} a where a.id = any (v_overdrawn)
        ) b join unnest(p_payers, p_payer_places) s(id, place) on s.id = b.id where b.posted < 0;
    end if;`

/** SQL for what an account has earned in slots. Its other earnings are in its row. */
export function earnedBy(account: string): string {
  return `(select coalesce(sum(e.amount), 0) from {earned} e where e.account = ${account})`
}

/** The table of slots, see {@link MOVE_CREDITS}. Its rows change in place many times a second. */
export const earnedTable = `create table {earned} (
    account text collate "C" not null,
    slot int not null,
    amount bigint not null,
    primary key (account, slot)
  ) with (fillfactor = 70)`
