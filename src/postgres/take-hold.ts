/**
 * Returns how many steps one part of a hold's conditions allows, as `HoldSteps` in the contracts says: those that a
 * quarter of the free amount covers, or the usual ones, leaving room for up to three more holds of the minimum amount.
 */
export const stepsWithin = `create function {steps_within_1}(p_free numeric, p_amount bigint, p_step bigint, p_usual bigint)
returns bigint
language sql immutable
as $function$
  select greatest(least(
    div(p_free - h.holds * p_amount, p_step),
    greatest(p_usual, div(p_free - 4 * p_amount::numeric, 4 * p_step::numeric))
  ), 0)::bigint
  from (select case when p_amount = 0 then 4 else least(greatest(div(p_free, p_amount), 1), 4) end as holds) h
$function$`

/**
 * Grants or refuses one hold, after all checks. `kind` is the outcome:
 *
 * `steps` is the number of steps, if the hold has some and got as far as that.
 *
 * - `granted`: the account's `held` and the hold's buckets have been raised. `limit_starts`, `limit_lefts` and
 *   `limit_resets` answer each of its limits: the beginning of its period, the amount left, the time until the period ends.
 * - `closed`: the hold, or the one that it replaces, has ended.
 * - `conflict`: a hold with this id exists, with other values.
 * - `claimed`: another hold has the claim. `entry_id` is that hold's entry if it was settled.
 * - `insufficient`: the account has too little. `posted` and `available` are what it has.
 * - `limited`: a limit refuses the hold. `counts` are the limit's place, the amount left, the time until its period ends,
 *   and 1 if only held amounts are in the way.
 *
 * The caller, `apply_ledger`, has locked the account and the buckets, and set the planner's options. This function locks the
 * hold that is replaced, and the claim by its key.
 *
 * The arrays have an element for each limit of the hold. `p_starts` and `p_ends` are the period that contains `p_now`.
 * `p_parts` is the text for `holds.limits`, a template for the beginnings of the periods and the amounts after them.
 *
 * With steps, `p_amount` and `p_amounts` are the least. `p_step` and `p_limit_steps` are what each step adds; `p_usual` and
 * `p_most` are as in the contract. The balance has no say in their number if `p_hides` is 1, nor has a limit whose element
 * of `p_hidden` is 1. The first `p_before` limits come before the balance.
 */
export const takeHold = `create function {take_hold_1}(
  p_id text, p_account text, p_amount bigint, p_now bigint, p_ttl bigint, p_claim text, p_replaces text, p_facts text,
  p_buckets text[], p_units text[], p_limits bigint[], p_amounts bigint[], p_starts bigint[], p_ends bigint[],
  p_parts text, p_process text,
  p_step bigint, p_usual bigint, p_most bigint, p_hides int, p_before int, p_limit_steps bigint[], p_hidden int[]
) returns table (
  kind text, posted bigint, available numeric, entry_id bigint,
  counts bigint[], limit_starts bigint[], limit_lefts bigint[], limit_resets bigint[], steps bigint
)
language plpgsql
as $function$
#variable_conflict use_column
-- holds.state: 0 open, 1 released, 2 settled, 3 expired.
declare
  v_known {holds}%rowtype;
  v_old {holds}%rowtype;    -- the hold that is replaced, if it is open
  v_holder {holds}%rowtype;
  v_claim text := p_claim;
  v_freed bigint := 0;
  v_posted numeric := 0;
  v_held bigint := 0;
  v_available numeric;
  v_overdue numeric;
  v_bucket {limit_buckets}%rowtype;
  v_own_from bigint;        -- the period in which the replaced hold counts, and its part of the bucket
  v_own bigint;
  v_free numeric;
  v_frees numeric[];        -- for each limit, what is free of it, and what is used of it, without the replaced hold's part
  v_useds numeric[];
  v_steps bigint := p_most; -- null without steps
  v_froms bigint[];         -- for each limit, the period in which this hold counts
  v_ends bigint[];
  v_owns bigint[];          -- v_own of each limit; null if the bucket had counted the request in a period that has ended
  v_lefts bigint[];
  v_resets bigint[];
  v_refused bigint[];       -- the counts of the refusal whose period ends last, of the limits before the balance or after it
  v_is_same boolean;
begin
  -- A repeat of a known hold: the same answer if nothing but time differs, with the counts as they are now.
  select * into v_known from {holds} h where h.id = p_id;
  if found then
    v_is_same := coalesce(json_array_length(v_known.limits::json), 0) = cardinality(p_buckets) and not exists (
      select from json_array_elements(v_known.limits::json) with ordinality k(part, place)
      where k.part ->> 0 <> p_buckets[k.place]
        or (k.part ->> 3)::bigint <> p_amounts[k.place] + coalesce(v_known.steps * p_limit_steps[k.place], 0)
    );
    if v_is_same and cardinality(p_buckets) > 0 then
      select array_agg((k.part ->> 2)::bigint order by k.place),
        array_agg(greatest(p_limits[k.place]::numeric - coalesce(b.used::numeric + b.held, 0), 0)::bigint order by k.place),
        array_agg(greatest(coalesce(b.ends_at - p_now, 0), 0) order by k.place)
      into v_froms, v_lefts, v_resets
      from json_array_elements(v_known.limits::json) with ordinality k(part, place)
      left join {limit_buckets} b on b.id = k.part ->> 0;
    end if;
    -- A repeated swap may leave out the claim that it took over.
    return query select case
      when v_known.state <> 0 or v_known.expires_at <= p_now then 'closed'
      when v_known.account = p_account and v_known.amount = p_amount + coalesce(v_known.steps * p_step, 0)
        and (v_known.steps is null) = (p_most is null)
        and v_known.replaces is not distinct from p_replaces
        and (v_known.claim is not distinct from p_claim or (p_claim is null and p_replaces is not null))
        and v_is_same
      then 'granted'
      else 'conflict'
    end, null::bigint, null::numeric, null::bigint, null::bigint[], v_froms, v_lefts, v_resets, v_known.steps;
    return;
  end if;

  -- A swap: the credit of the replaced hold is free for this one, and so is its claim.
  if p_replaces is not null then
    select * into v_old from {holds} h where h.id = p_replaces for no key update;
    if v_old.state = 2 then
      return query select 'closed'::text, null::bigint, null::numeric, null::bigint,
        null::bigint[], null::bigint[], null::bigint[], null::bigint[], null::bigint;
      return;
    end if;
    if v_old.state = 0 and v_old.expires_at > p_now then
      if v_old.account = p_account then v_freed := v_old.amount; end if;
      v_claim := coalesce(p_claim, v_old.claim);
    else
      v_old := null;
    end if;
  end if;

  -- A claim is taken while its hold is open or settled.
  if v_claim is not null then
    select h.* into v_holder from {claims} c join {holds} h on h.id = c.hold_id
    where c.claim = v_claim and h.id is distinct from p_replaces
      and (h.state = 2 or (h.state = 0 and h.expires_at > p_now));
    if found then
      return query select 'claimed'::text, null::bigint, null::numeric, v_holder.entry_id,
        null::bigint[], null::bigint[], null::bigint[], null::bigint[], null::bigint;
      return;
    end if;
  end if;

  -- The balance. Overdue holds that have not been swept still count in the account's row.
  select a.posted + (select coalesce(sum(e.amount), 0) from {earned} e where e.account = a.id), a.held
  into v_posted, v_held from {accounts} a where a.id = p_account;
  v_posted := coalesce(v_posted, 0);
  v_available := v_posted::numeric - coalesce(v_held, 0) + v_freed;

  -- Read each bucket without the part that the replaced hold accounts for. A swap stays in the period of that hold until the
  -- bucket counts a later one. Overdue holds count as held until they are swept.
  for v_place in 1 .. cardinality(p_buckets) loop
    if p_starts[v_place] is null then
      raise exception 'No window of % contains the time of the store''s clock, %', p_buckets[v_place], p_now
        using errcode = 'invalid_parameter_value';
    end if;
    select * into strict v_bucket from {limit_buckets} b where b.id = p_buckets[v_place];
    select (o.part ->> 2)::bigint, (o.part ->> 3)::bigint into v_own_from, v_own
    from json_array_elements(v_old.limits::json) o(part) where o.part ->> 0 = p_buckets[v_place];
    if v_bucket.starts_at < p_starts[v_place] and v_bucket.starts_at is distinct from v_own_from then
      v_bucket.starts_at := p_starts[v_place];
      v_bucket.ends_at := p_ends[v_place];
      v_bucket.held := 0;
      v_bucket.used := 0;
    end if;
    v_froms[v_place] := v_bucket.starts_at;
    v_ends[v_place] := v_bucket.ends_at;
    if v_own_from is distinct from v_bucket.starts_at then
      if v_own_from is not null and p_units[v_place] = 'requests' then
        v_froms[v_place] := v_own_from;
        v_owns[v_place] := null;
        continue;
      end if;
      v_own := 0;
    end if;
    v_owns[v_place] := v_own;
    v_frees[v_place] := p_limits[v_place]::numeric - v_bucket.used - v_bucket.held + v_own;
    v_useds[v_place] := v_bucket.used::numeric - case when p_units[v_place] = 'requests' then v_own else 0 end;
  end loop;

  -- Choose the steps, as the part that allows the fewest does: the balance, with place 0, or a limit.
  if p_most is not null then
    for v_place in 0 .. cardinality(p_buckets) loop
      continue when v_place = 0 and (p_hides = 1 or p_step = 0);
      continue when v_place > 0 and (p_hidden[v_place] = 1 or coalesce(p_limit_steps[v_place], 0) = 0);
      v_steps := least(v_steps, case v_place
        when 0 then {steps_within_1}(v_available, p_amount, p_step, p_usual)
        else {steps_within_1}(v_frees[v_place], p_amounts[v_place], p_limit_steps[v_place], p_usual)
      end);
    end loop;
    p_amount := p_amount + v_steps * p_step;
    for v_place in 1 .. cardinality(p_buckets) loop
      p_amounts[v_place] := p_amounts[v_place] + v_steps * coalesce(p_limit_steps[v_place], 0);
    end loop;
  end if;

  -- Test the limits before the balance, then the balance, then the other limits.
  for v_place in 1 .. cardinality(p_buckets) + 1 loop
    if v_place = p_before + 1 then
      exit when v_refused is not null;
      if p_amount > 0 and v_available < p_amount then
        select coalesce(sum(h.amount), 0) into v_overdue from {holds} h
        where h.state = 0 and h.account = p_account and h.expires_at <= p_now;
        v_available := v_available + v_overdue;
        if v_available < p_amount then
          return query select 'insufficient'::text, v_posted::bigint, v_available, null::bigint,
            null::bigint[], null::bigint[], null::bigint[], null::bigint[], v_steps;
          return;
        end if;
      end if;
    end if;
    continue when v_place > cardinality(p_buckets) or v_owns[v_place] is null;
    v_free := v_frees[v_place];
    continue when p_amounts[v_place] <= v_free or (p_amounts[v_place] = 0 and p_units[v_place] = 'credits');
    select coalesce(sum((o.part ->> 3)::bigint), 0) into v_overdue
    from {holds} h cross join json_array_elements(h.limits::json) o(part)
    where h.state = 0 and h.expires_at <= p_now and h.limits is not null and o.part ->> 0 = p_buckets[v_place]
      and (o.part ->> 2)::bigint = v_froms[v_place] and o.part ->> 1 <> 'requests';
    v_free := v_free + v_overdue;
    continue when p_amounts[v_place] <= v_free;
    if v_refused is null or greatest(v_ends[v_place] - p_now, 0) > v_refused[3] then
      v_refused := array[v_place, greatest(v_free, 0)::bigint, greatest(v_ends[v_place] - p_now, 0),
        (v_useds[v_place] + p_amounts[v_place] <= p_limits[v_place])::int];
    end if;
  end loop;
  if v_refused is not null then
    return query select 'limited'::text, null::bigint, null::numeric, null::bigint, v_refused,
      null::bigint[], null::bigint[], null::bigint[], v_steps;
    return;
  end if;

  -- All checks have passed. Take the claim: its key makes one visible that is taken at this moment under another account's
  -- lock.
  if v_claim is not null then
    insert into {claims} as c (claim, hold_id) values (v_claim, p_id)
    on conflict (claim) do update set hold_id = excluded.hold_id
    where c.hold_id is not distinct from p_replaces or not exists (
      select from {holds} h where h.id = c.hold_id and (h.state = 2 or (h.state = 0 and h.expires_at > p_now))
    );
    if not found then
      raise exception 'A claim was taken twice at once' using errcode = 'serialization_failure';
    end if;
  end if;

  -- Release the replaced hold. Its parts of buckets pass to this hold.
  if v_old.id is not null then
    update {holds} set state = 1, ended_at = p_now, limits = null where id = v_old.id;
    update {accounts} set held = held - v_old.amount where id = v_old.account;
  end if;
  if v_old.limits is not null then
    update {limit_buckets} b set held = b.held - (o.part ->> 3)::bigint from json_array_elements(v_old.limits::json) o(part)
    where b.id = o.part ->> 0 and b.starts_at = (o.part ->> 2)::bigint and o.part ->> 1 <> 'requests';
  end if;

  -- Count this hold in its buckets: credits and tokens as held, requests as used. A later period starts from zero.
  for v_place in 1 .. cardinality(p_buckets) loop
    update {limit_buckets} b set
      starts_at = v_froms[v_place],
      ends_at = v_ends[v_place],
      held = case when b.starts_at = v_froms[v_place] then b.held else 0 end
        + case when p_units[v_place] = 'requests' then 0 else p_amounts[v_place] end,
      used = case when b.starts_at = v_froms[v_place] then b.used else 0 end
        + case when p_units[v_place] = 'requests' then p_amounts[v_place] - v_owns[v_place] else 0 end
    where b.id = p_buckets[v_place] and v_owns[v_place] is not null;
    select * into strict v_bucket from {limit_buckets} b where b.id = p_buckets[v_place];
    v_lefts[v_place] := greatest(p_limits[v_place]::numeric - v_bucket.used - v_bucket.held, 0)::bigint;
    v_resets[v_place] := greatest(v_bucket.ends_at - p_now, 0);
  end loop;

  -- Store the hold, and raise what the account has on hold.
  insert into {holds} (id, account, amount, state, expires_at, claim, replaces, facts, limits, process, steps)
  values (p_id, p_account, p_amount, 0, p_now + p_ttl, v_claim, p_replaces, p_facts,
    format(p_parts, variadic v_froms || p_amounts), p_process, v_steps);
  update {accounts} set held = held + p_amount where id = p_account and p_amount > 0;
  return query select 'granted'::text, null::bigint, null::numeric, null::bigint, null::bigint[], v_froms, v_lefts, v_resets, v_steps;
end
$function$`
