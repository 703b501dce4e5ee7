import { HOLD_STATE } from '../sql/hold-states.js'
import type { FunctionVersion } from './ledger-parameters.js'

/**
 * Adds the buckets that the batch's holds free. Only their rows name these, and the batch's locks on accounts keep those
 * from changing. A settlement names its buckets itself.
 */
export const BUCKETS_OF_HOLDS = `if cardinality(p_released) > 0 or array_remove(p_replaces, null) <> '{}' then
    v_buckets := v_buckets || array(
      select distinct p.value ->> 0 from {holds} h cross join json_array_elements(h.limits::json) p(value)
      where h.id = any (p_released || p_replaces) and h.state < ${HOLD_STATE.released} and h.limits is not null
        and p.value ->> 0 <> all (p_buckets)
    );
  end if;`

/** Creates the buckets that holds count in. A bucket is created by its first hold, without a period. */
export const CREATE_BUCKETS = `insert into {limit_buckets} (id, starts_at, ends_at, held, used)
      select m.id, -1, -1, 0, 0 from (select distinct p_buckets[l.place] as id from unnest(p_limit_buckets) l(place)) m
      where not exists (select from {limit_buckets} b where b.id = m.id)
      order by 1 on conflict do nothing;`

/**
 * Locks the batch's buckets, after its accounts and in one order, so that batches cannot deadlock. Another process may
 * create a bucket or delete it at the same time, so all are locked again.
 */
export const LOCK_BUCKETS = `v_buckets := p_buckets;
  ${BUCKETS_OF_HOLDS}
  if cardinality(v_buckets) > 0 then
    perform from {limit_buckets} b where b.id = any (v_buckets) order by b.id for no key update;
    get diagnostics v_count = row_count;
    if v_count < cardinality(v_buckets) and cardinality(p_limits) > 0 then
      ${CREATE_BUCKETS}
      perform from {limit_buckets} b where b.id = any (v_buckets) order by b.id for no key update;
      if exists (
        select from unnest(p_limit_buckets) l(place)
        where not exists (select from {limit_buckets} b where b.id = p_buckets[l.place])
      ) then
        raise exception 'A bucket was deleted in the meantime' using errcode = 'serialization_failure';
      end if;
    end if;
  end if;`

/** Finds the period of each of the batch's windows that contains the batch's time; null if none of them does. */
export const FIND_PERIODS = `if cardinality(p_limits) > 0 then
      select array_agg(p.starts_at order by w.place), array_agg(p.ends_at order by w.place) into v_starts, v_ends
      from generate_series(1, (select max(l.place) from unnest(p_limit_windows) l(place))) w(place)
      left join unnest(p_period_windows, p_period_starts, p_period_ends) p(place, starts_at, ends_at)
        on p.place = w.place and p.starts_at <= v_now and p.ends_at > v_now;
      v_limit_starts := array_fill(null::bigint, array[cardinality(p_limits)]);
      v_limit_lefts := v_limit_starts;
      v_limit_resets := v_limit_starts;
    end if;`

const LIMITS = `unnest(p_limit_holds, p_limit_buckets, p_limit_windows, p_limit_units, p_limits, p_limit_amounts)
          with ordinality l(hold, bucket, windows, unit, size, amount, place)`

/** A batch without its busy commands still has their limits, whose buckets may not exist yet. */
const joinBuckets = ({ hasLanes }: FunctionVersion): string =>
  `${hasLanes ? 'left join' : 'join'} {limit_buckets} b on b.id = p_buckets[l.bucket]`

/**
 * Finds the groups of holds that would exceed a limit if all groups were taken, and the answers for all limits if they are.
 * If a group is not taken, its holds are checked one by one. So are holds outside of their periods, which may be repeats.
 * Overdue holds count as held here, too.
 */
export const findWithin = (
  version: FunctionVersion,
): string => `v_within := array_fill(true, array[cardinality(p_group_accounts)]);
        if cardinality(p_limits) > 0 then
          select array_agg(n.starts_at order by n.place),
            array_agg(greatest(n.size - n.present - n.running, 0)::bigint order by n.place),
            array_agg(greatest(n.ends_at - v_now, 0) order by n.place),
            coalesce(array_agg(n.hold_group) filter (where n.present + n.total > n.least or n.is_outside), '{}')
          into v_limit_starts, v_limit_lefts, v_limit_resets, v_places
          from (
            select l.place, l.size, p_hold_groups[l.hold] as hold_group, v_starts[l.windows] is null as is_outside,
              greatest(b.starts_at, v_starts[l.windows]) as starts_at,
              case when b.starts_at < v_starts[l.windows] then v_ends[l.windows] else b.ends_at end as ends_at,
              case when b.starts_at < v_starts[l.windows] then 0 else b.used::numeric + b.held end as present,
              sum(l.amount) filter (where p_hold_groups[l.hold] > 0) over w as total,
              sum(l.amount) over (w order by l.place rows unbounded preceding) as running,
              min(l.size) filter (where l.amount > 0 or l.unit <> 'credits') over w as least
            from ${LIMITS} ${joinBuckets(version)}
            window w as (partition by l.bucket)
          ) n;
          foreach v_place in array v_places loop
            if v_place > 0 then v_within[v_place] := false; end if;
          end loop;
        end if;`

/**
 * Counts the limits of the groups that are taken together. A later period resets a bucket. If some groups are not taken,
 * more is left after the others.
 */
export const countGroups = (version: FunctionVersion): string => `if cardinality(p_limits) > 0 then
          update {limit_buckets} b set
            starts_at = greatest(b.starts_at, c.starts_at),
            ends_at = case when b.starts_at < c.starts_at then c.ends_at else b.ends_at end,
            held = case when b.starts_at < c.starts_at then 0 else b.held end + c.held,
            used = case when b.starts_at < c.starts_at then 0 else b.used end + c.used
          from (
            select l.bucket, max(v_starts[l.windows]) as starts_at, max(v_ends[l.windows]) as ends_at,
              sum(case when l.unit = 'requests' then 0 else l.amount end)::bigint as held,
              sum(case when l.unit = 'requests' then l.amount else 0 end)::bigint as used
            from ${LIMITS} where v_covered[p_hold_groups[l.hold]] group by l.bucket
          ) c where b.id = p_buckets[c.bucket];
          if false = any (v_covered) or 0 = any (p_hold_groups) then
            select array_agg(greatest(n.size - n.present + n.later, 0)::bigint order by n.place) into v_limit_lefts
            from (
              select l.place, l.size, b.used::numeric + b.held as present,
                coalesce(sum(l.amount) filter (where v_covered[p_hold_groups[l.hold]]) over (
                  partition by l.bucket order by l.place rows between 1 following and unbounded following
                ), 0) as later
              from ${LIMITS} ${joinBuckets(version)}
            ) n;
          end if;
        end if;`

/** SQL for the credits and tokens that these JSON texts of open holds hold, by bucket and period. */
export function heldParts(limits: string): string {
  return `select p.value ->> 0 as bucket, (p.value ->> 2)::bigint as starts_at, (p.value ->> 3)::bigint as held
      from ${limits} h(limits) cross join json_array_elements(h.limits::json) p(value)
      where h.limits is not null and p.value ->> 1 <> 'requests'`
}

/** SQL that returns to the buckets the parts that these JSON texts of holds held. */
export function freeBuckets(limits: string): string {
  return `update {limit_buckets} b set held = b.held - d.held
    from (
      select f.bucket, f.starts_at, sum(f.held)::bigint as held from (${heldParts(limits)}) f group by f.bucket, f.starts_at
    ) d where b.id = d.bucket and b.starts_at = d.starts_at`
}

/** Replaces the held part of each bucket by the actual use. A bucket that counts another period does not change. */
export const SETTLE_BUCKETS = `if v_open_limits is not null or cardinality(p_use_settlements) > 0 then
      update {limit_buckets} b set held = b.held - d.held, used = b.used + d.used
      from (
        select x.bucket, x.starts_at, sum(x.held)::bigint as held, sum(x.used)::bigint as used from (
          select f.bucket, f.starts_at, f.held, 0::bigint as used from (${heldParts('unnest(v_open_limits)')}) f
          union all
          select p_buckets[u.bucket], u.starts_at, 0::bigint, u.used
          from unnest(p_use_settlements, p_use_buckets, p_use_starts, p_use_amounts) u(settlement, bucket, starts_at, used)
          where v_entries[u.settlement] is not null
        ) x group by x.bucket, x.starts_at
      ) d where b.id = d.bucket and b.starts_at = d.starts_at;
    end if;`
