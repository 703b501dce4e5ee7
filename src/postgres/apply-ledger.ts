/**
 * Runs all commands of a batch in one transaction: releases, then settlements, then holds in their order.
 *
 * Returns a row for each command whose outcome is not the plain one (released, posted, granted), a `balance` row for each
 * payer below zero, and one `done` row with the number of plain outcomes, so that the caller can check that none is missing.
 * If holds have limits, three rows answer all granted limits in their order: the beginnings of their periods (`starts`), the
 * amounts left (`lefts`), and the time until their periods end (`resets`). A hold with steps has a row `steps` with their
 * number in addition. A command that needs a row that another
 * transaction has locked gets a `busy-…` row with that row's name in `awaited` instead, and has no effect.
 *
 * What it locks, each kind before the next, so that no two batches can deadlock:
 *
 * 1. the row of the process that takes the holds, against its deletion;
 * 2. the rows that the batch was made to wait for: accounts, then buckets. It holds no other lock meanwhile, so that no
 *    other account waits with it;
 * 3. of the accounts that pay, and then of the buckets, those that are free. It waits for none of them;
 * 4. a slot for earnings, which no other transaction has.
 *
 * The arrays of one group have an element for each of the same things, in the same order. A place counts from 1. An array of
 * nothing but nulls comes empty: a missing element is null, and `unnest` fills the shorter arrays up with nulls. JSON comes
 * as lines of one text. The call is in `ledger-parameters.ts`.
 */
export const applyLedger = String.raw`create function {apply_ledger_1}(
  -- The accounts to lock, each once: those of releases and holds, and those that pay.
  p_accounts text[],

  -- Releases.
  p_released text[],
  p_release_accounts text[],

  -- Settlements: the claim of each, and the columns of its entry.
  p_claims text[],
  p_hold_id text[],
  p_account text[],
  p_credential_id text[],
  p_model text[],
  p_app_id text[],
  p_session_id text[],
  p_provider text[],
  p_cost bigint[],
  p_base bigint[],
  p_markup bigint[],
  p_prompt bigint[],
  p_cached bigint[],
  p_cache_write bigint[],
  p_completion bigint[],
  p_reasoning bigint[],
  p_posted bigint[],
  p_postings text,
  p_details text,
  p_audio_input bigint[],
  p_audio_output bigint[],
  p_image_input bigint[],
  p_image_output bigint[],

  -- Paying accounts, each once, with the place of one of their settlements.
  p_payers text[],
  p_payer_places bigint[],
  -- Accounts that earn, each once. They are created if they do not exist.
  p_creditors text[],
  -- Postings, with the place of their settlement.
  p_posting_settlements int[],
  p_posting_accounts text[],
  p_posting_amounts bigint[],

  -- Accounts whose holds are taken together, with their total.
  p_group_accounts text[],
  p_group_totals numeric[],
  -- Holds, with the place of their group, or 0 for none.
  p_holds text[],
  p_hold_groups int[],
  p_hold_accounts text[],
  p_amounts bigint[],
  p_ttls bigint[],
  p_hold_claims text[],
  p_replaces text[],
  p_facts text,
  -- For each hold with steps: their credits, how many are usual, the most, and 1 if the balance has no say in their number.
  p_step_amounts bigint[],
  p_usual_steps bigint[],
  p_most_steps bigint[],
  p_hides_balance int[],
  -- For each hold, how many of its limits come before the balance; null for none.
  p_before_balance int[],

  -- Buckets of limits: those of the holds and the settlements, each once.
  p_buckets text[],
  -- For each hold, the places of the first and the last of its limits. The first is greater if it has none. Empty if no
  -- hold has any, as are their parts.
  p_first_limits int[],
  p_last_limits int[],
  -- For each hold, the parts of buckets that it will account for, with %s for the beginning of each period. If the hold has
  -- steps, %n$s are the beginnings of all periods and then all amounts.
  p_limit_parts text,
  -- Limits, in the order of their holds, with the places of the hold, the bucket and the windows.
  p_limit_holds int[],
  p_limit_buckets int[],
  p_limit_windows int[],
  p_limit_units text[],
  p_limits bigint[],
  p_limit_amounts bigint[],
  -- What each step adds, and 1 if the limit has no say in the number of steps.
  p_limit_steps bigint[],
  p_limit_hidden int[],
  -- The periods of all windows, with the place of the windows that they belong to.
  p_period_windows int[],
  p_period_starts bigint[],
  p_period_ends bigint[],
  -- Credits and tokens that settlements use, with the places of the settlement and the bucket.
  p_use_settlements int[],
  p_use_buckets int[],
  p_use_starts bigint[],
  p_use_amounts bigint[],

  -- The rows that this batch waits for.
  p_awaited_accounts text[],
  p_awaited_buckets text[],
  -- The process that takes the holds; null if nobody keeps them.
  p_process text
) returns table (
  kind text, place bigint, posted bigint, available numeric, entry_id bigint, counts bigint[], awaited text
)
language plpgsql
set search_path = pg_catalog, pg_temp
-- The tables are large and the arrays small, so an index scan is always right, and a plan that was made while the tables
-- were small must not be kept.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
-- For the rows that the batch waits for. Short, since others that are busy have to wait for their turn meanwhile.
set lock_timeout = '250ms'
as $function$
#variable_conflict use_column
-- holds.state: 0 open, 1 released, 2 settled, 3 expired.
declare
  v_now bigint;                         -- the time of the batch
  v_plain bigint := 0;                  -- how many commands had the plain outcome
  v_count bigint;
  v_has_claims boolean;                 -- whether a settled hold may have a claim
  v_open_accounts text[];               -- what settling open holds has freed
  v_open_amounts bigint[];
  v_entries bigint[];                   -- the id of each settlement's entry, null for a repeat
  v_lost bigint[] := '{}';              -- the places of settlements whose claim another hold has
  v_covered boolean[] := '{}';          -- for each group of holds, whether they were taken together
  v_places bigint[];
  v_facts text[];
  v_place int;
  v_state bigint;
  v_claim text;
  v_buckets text[];                     -- the buckets to lock
  v_open_limits text[];                 -- the parts of buckets that settling open holds has freed
  v_starts bigint[];                    -- for each of the batch's windows, the period that contains v_now
  v_ends bigint[];
  v_limit_starts bigint[];              -- the answers for granted limits
  v_limit_lefts bigint[];
  v_limit_resets bigint[];
  v_within boolean[];                   -- for each group of holds, whether all groups together are within its limits
  v_parts text[];
  v_first int;
  v_last int;
  v_steps bigint;
  v_new_starts bigint[];
  v_new_lefts bigint[];
  v_new_resets bigint[];
  v_locked text[];
  v_absent text[] := '{}';
  v_busy_accounts text[] := '{}';       -- the rows that other transactions have locked
  v_busy_buckets text[] := '{}';
  v_busy_releases bigint := 0;          -- how many commands were taken out of the batch
  v_busy_settlements bigint := 0;
  v_slot int := 0;
  v_overdrawn text[];
  v_is_large boolean;
begin
  -- Wait for the disk even if the host's session has turned that off. Local to the transaction, and never weaker than the
  -- host's setting.
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;

  -- LOCKS -----------------------------------------------------------------------------------------------------------------

  -- Keep the process from being cleared until this batch has committed. A process that was cleared takes no hold under its
  -- old id: nothing would end that hold if the process died.
  if p_process is not null and cardinality(p_holds) > 0 then
    perform from {processes} p where p.id = p_process for key share;
    if not found then
      raise exception 'The process % was cleared', p_process using errcode = 'P0C01';
    end if;
  end if;

  -- Wait for the rows that the batch was made for.
  if cardinality(p_awaited_accounts) > 0 then
    perform from {accounts} a where a.id = any (p_awaited_accounts) order by a.id for no key update;
  end if;
  if cardinality(p_awaited_buckets) > 0 then
    perform from {limit_buckets} b where b.id = any (p_awaited_buckets) order by b.id for no key update;
  end if;

  -- Lock the accounts that pay. Those that another transaction has locked are busy.
  v_locked := array(
    select a.id from {accounts} a where a.id = any (p_accounts) for no key update skip locked
  );
  if cardinality(v_locked) < cardinality(p_accounts) then
    v_absent := array(select unnest(p_accounts) except select unnest(v_locked));
    v_busy_accounts := array(select a.id from {accounts} a where a.id = any (v_absent));
    v_absent := array(select unnest(v_absent) except select unnest(v_busy_accounts));
  end if;
  -- An account is created by its first posting. Another process may create it at the same time, and may have locked it by
  -- then.
  if cardinality(p_creditors) > 0 or cardinality(v_absent) > 0 then
    insert into {accounts} (id, created_at)
    select p.id, floor(extract(epoch from clock_timestamp()) * 1000)::bigint from (
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
  end if;

  -- Take the commands of busy accounts out of the batch: later steps find no hold with their id.
  if cardinality(v_busy_accounts) > 0 then
    for place, awaited in
      select r.place, 'account:' || r.account from unnest(p_release_accounts) with ordinality r(account, place)
      where r.account = any (v_busy_accounts)
    loop
      continue when p_released[place] is null;
      p_released[place] := null;
      v_busy_releases := v_busy_releases + 1;
      kind := 'busy-release';
      return next;
    end loop;
    for place, awaited in
      select s.place, 'account:' || s.account from unnest(p_account) with ordinality s(account, place)
      where s.account = any (v_busy_accounts)
      union all
      select p.settlement, 'account:' || p.account
      from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
      where p.amount < 0 and p.account = any (v_busy_accounts)
    loop
      continue when p_hold_id[place] is null;
      p_hold_id[place] := null;
      v_busy_settlements := v_busy_settlements + 1;
      kind := 'busy-settlement';
      return next;
    end loop;
    for place, awaited in
      select h.place, 'account:' || h.account from unnest(p_hold_accounts) with ordinality h(account, place)
      where h.account = any (v_busy_accounts)
    loop
      continue when p_holds[place] is null;
      p_holds[place] := null;
      if p_replaces[place] is not null then p_replaces[place] := null; end if;
      -- The group's total includes this hold, so the others of its group are taken one by one.
      if p_hold_groups[place] > 0 then p_group_totals[p_hold_groups[place]] := null; end if;
      for v_place in coalesce(p_first_limits[place], 1) .. coalesce(p_last_limits[place], 0) loop
        p_limit_amounts[v_place] := 0;
      end loop;
      kind := 'busy-hold';
      return next;
    end loop;
  end if;

  -- Lock the buckets: those that the commands name, and those of the holds that they free. Only the rows of these holds name
  -- the latter, and the locks on accounts keep those rows from changing. A settlement names its buckets itself.
  v_buckets := p_buckets;
  if cardinality(p_released) > 0 or array_remove(p_replaces, null) <> '{}' then
    v_buckets := v_buckets || array(
      select distinct p.value ->> 0 from {holds} h cross join json_array_elements(h.limits::json) p(value)
      where h.id = any (p_released || p_replaces) and h.state < 1 and h.limits is not null
        and p.value ->> 0 <> all (p_buckets)
    );
  end if;
  if cardinality(v_buckets) > 0 then
    v_locked := array(
      select b.id from {limit_buckets} b where b.id = any (v_buckets) for no key update skip locked
    );
    if cardinality(v_locked) < cardinality(v_buckets) then
      -- A bucket is created by its first hold, without a period. One that no hold counts in may be missing: then there is
      -- nothing to give back.
      insert into {limit_buckets} (id, starts_at, ends_at, held, used)
      select m.id, -1, -1, 0, 0 from (select distinct p_buckets[l.place] as id from unnest(p_limit_buckets) l(place)) m
      where not exists (select from {limit_buckets} b where b.id = m.id)
      order by 1 on conflict do nothing;
      v_locked := array(
        select b.id from {limit_buckets} b where b.id = any (v_buckets) for no key update skip locked
      );
      v_busy_buckets := array(
        select m.id from (select unnest(v_buckets) except select unnest(v_locked)) m(id)
        where exists (select from {limit_buckets} b where b.id = m.id)
          or m.id in (select p_buckets[l.place] from unnest(p_limit_buckets) l(place))
      );
    end if;
  end if;

  -- Take the commands of busy buckets out of the batch, as those of busy accounts.
  if cardinality(v_busy_buckets) > 0 then
    for place, awaited in
      select n.place, 'bucket:' || (p.value ->> 0)
      from unnest(p_released) with ordinality n(id, place) join {holds} h on h.id = n.id
        cross join json_array_elements(h.limits::json) p(value)
      where h.state < 1 and h.limits is not null and p.value ->> 0 = any (v_busy_buckets)
    loop
      continue when p_released[place] is null;
      p_released[place] := null;
      v_busy_releases := v_busy_releases + 1;
      kind := 'busy-release';
      return next;
    end loop;
    for place, awaited in
      select u.settlement, 'bucket:' || p_buckets[u.bucket] from unnest(p_use_settlements, p_use_buckets) u(settlement, bucket)
      where p_buckets[u.bucket] = any (v_busy_buckets)
    loop
      continue when p_hold_id[place] is null;
      p_hold_id[place] := null;
      v_busy_settlements := v_busy_settlements + 1;
      kind := 'busy-settlement';
      return next;
    end loop;
    for place, awaited in
      select l.hold, 'bucket:' || p_buckets[l.bucket] from unnest(p_limit_holds, p_limit_buckets) l(hold, bucket)
      where p_buckets[l.bucket] = any (v_busy_buckets)
      union all
      select n.place, 'bucket:' || (p.value ->> 0)
      from unnest(p_replaces) with ordinality n(id, place) join {holds} h on h.id = n.id
        cross join json_array_elements(h.limits::json) p(value)
      where h.state < 1 and h.limits is not null and p.value ->> 0 = any (v_busy_buckets)
    loop
      continue when p_holds[place] is null;
      p_holds[place] := null;
      if p_replaces[place] is not null then p_replaces[place] := null; end if;
      if p_hold_groups[place] > 0 then p_group_totals[p_hold_groups[place]] := null; end if;
      for v_place in coalesce(p_first_limits[place], 1) .. coalesce(p_last_limits[place], 0) loop
        p_limit_amounts[v_place] := 0;
      end loop;
      kind := 'busy-hold';
      return next;
    end loop;
  end if;
  awaited := null;

  -- Read after the wait for the locks, so that it is not before the time of an earlier batch.
  v_now := floor(extract(epoch from clock_timestamp()) * 1000)::bigint;

  -- RELEASES --------------------------------------------------------------------------------------------------------------

  -- End the open holds, and give their amounts back to the accounts and to the buckets that still count their period. An
  -- unknown hold is stored as released, so that it is refused if it arrives later.
  if cardinality(p_released) > 0 then
    return query
      with ended as (
        update {holds} h set state = 1, ended_at = v_now from unnest(p_released) r(id)
        where h.id = r.id and h.state = 0 and h.expires_at > v_now
        returning h.account, h.amount, h.limits
      ), buried as (
        insert into {holds} (id, account, amount, state, expires_at, ended_at)
        select r.id, r.account, 0, 1, v_now, v_now from unnest(p_released, p_release_accounts) r(id, account)
        where r.id is not null and not exists (select from {holds} h where h.id = r.id)
        on conflict do nothing
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
      select 'settled'::text, r.place, null::bigint, null::numeric, null::bigint, null::bigint[], null::text
      from unnest(p_released) with ordinality r(id, place) join {holds} h on h.id = r.id
      where h.state = 2;
    get diagnostics v_count = row_count;
    v_plain := v_plain + cardinality(p_released) - v_count - v_busy_releases;
  end if;

  -- SETTLEMENTS -----------------------------------------------------------------------------------------------------------

  if cardinality(p_hold_id) > 0 then
    -- An entry's id is drawn before its hold is known, and lost if the settlement is a repeat. A settlement that was taken
    -- out of the batch gets none.
    v_entries := array(select case when s.id is not null then nextval('{entries_id_seq}') end from unnest(p_hold_id) s(id));

    -- Settle the open holds. Not "state = 0", which would let the planner walk through all open holds by the index of those.
    -- The entry has the facts from here on.
    with ended as (
      update {holds} h set state = 2, ended_at = v_now, entry_id = s.entry_id, facts = null
      from unnest(p_hold_id, v_entries) s(id, entry_id)
      where h.id = s.id and h.state < 1
      returning h.account, h.amount, h.claim, h.limits
    )
    select array_agg(e.account), array_agg(e.amount), coalesce(bool_or(e.claim is not null), false), count(*),
      array_agg(e.limits) filter (where e.limits is not null)
    into v_open_accounts, v_open_amounts, v_has_claims, v_count, v_open_limits from ended e;

    -- Settle the others. A repeat loses its entry. An unknown, released or expired hold is settled all the same, because the
    -- call was made. If no row could be inserted or updated, another batch has changed the hold at the same time, under
    -- another account's lock. This batch then has no effect and is retried.
    if v_count < cardinality(p_hold_id) - v_busy_settlements then
      v_has_claims := true;
      for v_place, v_state in
        select s.place, h.state
        from unnest(p_hold_id, v_entries) with ordinality s(id, entry_id, place) left join {holds} h on h.id = s.id
        where h.entry_id is distinct from s.entry_id
      loop
        if v_state = 2 then
          v_entries[v_place] := null;
          continue;
        elsif v_state is null then
          insert into {holds} (id, account, amount, state, expires_at, ended_at, entry_id)
          values (p_hold_id[v_place], p_account[v_place], 0, 2, v_now, v_now, v_entries[v_place])
          on conflict do nothing;
        else
          update {holds} h set state = 2, ended_at = v_now, entry_id = v_entries[v_place]
          where h.id = p_hold_id[v_place] and h.state in (1, 3);
        end if;
        if not found then
          raise exception 'A hold was settled twice at once' using errcode = 'serialization_failure';
        end if;
      end loop;
    end if;

    -- Write the entries and their postings.
    insert into {entries} (
      id, at, kind, hold_id, account, credential_id, model, app_id, session_id, provider, cost, base, markup, prompt, cached,
      cache_write, completion, reasoning, posted, postings, details, audio_input, audio_output, image_input, image_output
    ) overriding system value
    select
      s.id, v_now, 'charge', s.hold_id, s.account, s.credential_id, s.model, s.app_id, s.session_id, s.provider, s.cost,
      s.base, s.markup, s.prompt, s.cached, s.cache_write, s.completion, s.reasoning, s.posted, s.postings, s.details,
      s.audio_input, s.audio_output, s.image_input, s.image_output
    from unnest(
      v_entries, p_hold_id, p_account, p_credential_id, p_model, p_app_id, p_session_id, p_provider, p_cost, p_base,
      p_markup, p_prompt, p_cached, p_cache_write, p_completion, p_reasoning, p_posted,
      string_to_array(p_postings, E'\n'), string_to_array(p_details, E'\n'), p_audio_input, p_audio_output, p_image_input, p_image_output
    ) s(
      id, hold_id, account, credential_id, model, app_id, session_id, provider, cost, base, markup, prompt, cached,
      cache_write, completion, reasoning, posted, postings, details, audio_input, audio_output, image_input, image_output
    )
    where s.id is not null;

    insert into {postings} (account, at, entry_id, amount)
    select p.account, v_now, v_entries[p.settlement], p.amount
    from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
    where v_entries[p.settlement] is not null;

    -- The totals do not contain these entries yet.
    if cardinality(array_remove(v_entries, null)) > 0 then
      insert into {unsummed} (ids, at) values (array_remove(v_entries, null), v_now);
    end if;

    -- Take the claims. A settlement without one takes that of its hold. A hold that already has the claim, open or settled,
    -- keeps it.
    if v_has_claims or array_remove(p_claims, null) <> '{}' then
      for v_place, v_claim in
        select s.place, coalesce(s.claim, h.claim)
        from unnest(p_hold_id, p_claims, v_entries) with ordinality s(id, claim, entry_id, place)
        join {holds} h on h.id = s.id
        where s.entry_id is not null and coalesce(s.claim, h.claim) is not null order by s.place
      loop
        insert into {claims} as c (claim, hold_id) values (v_claim, p_hold_id[v_place])
        on conflict (claim) do update set hold_id = excluded.hold_id
        where c.hold_id = excluded.hold_id or not exists (
          select from {holds} h where h.id = c.hold_id and (h.state = 2 or (h.state = 0 and h.expires_at > v_now))
        );
        if not found then v_lost := v_lost || v_place::bigint; end if;
      end loop;
    end if;

    -- Replace the held part of each bucket by the actual use. A bucket that counts another period does not change.
    if v_open_limits is not null or cardinality(p_use_settlements) > 0 then
      update {limit_buckets} b set held = b.held - d.held, used = b.used + d.used
      from (
        select x.bucket, x.starts_at, sum(x.held)::bigint as held, sum(x.used)::bigint as used
        from (
          select p.value ->> 0 as bucket, (p.value ->> 2)::bigint as starts_at, (p.value ->> 3)::bigint as held,
            0::bigint as used
          from unnest(v_open_limits) h(limits) cross join json_array_elements(h.limits::json) p(value)
          where h.limits is not null and p.value ->> 1 <> 'requests'
          union all
          select p_buckets[u.bucket], u.starts_at, 0::bigint, u.used
          from unnest(p_use_settlements, p_use_buckets, p_use_starts, p_use_amounts) u(settlement, bucket, starts_at, used)
          where v_entries[u.settlement] is not null
        ) x
        group by x.bucket, x.starts_at
      ) d
      where b.id = d.bucket and b.starts_at = d.starts_at;
    end if;

    -- Answer. Every settlement except a repeat counts as plain. A lost claim is reported in addition.
    v_plain := v_plain + cardinality(p_hold_id) - v_busy_settlements;
    if array_position(v_entries, null) is not null then
      return query
        select 'repeated'::text, s.place, null::bigint, null::numeric, h.entry_id, null::bigint[], null::text
        from unnest(p_hold_id, v_entries) with ordinality s(id, entry_id, place) join {holds} h on h.id = s.id
        where s.entry_id is null;
      get diagnostics v_count = row_count;
      v_plain := v_plain - v_count;
    end if;
    return query
      select 'claim-lost'::text, l.place, null::bigint, null::numeric, null::bigint, null::bigint[], null::text
      from unnest(v_lost) l(place);

    -- Move the credits. The row of each account changes once, by all its debits and freed holds; payers are included with
    -- zero, so that each is read. Credits that are earned go to the first slot that no other batch uses, so that no two
    -- batches wait for the same row. There are as many slots as there were batches at once. Only payers whose row is below
    -- zero may be below zero.
    if cardinality(p_creditors) > 0 then
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
    -- Below 2^52 in a slot and 2^62 in the row, a balance with a thousand slots is within 64 bits.
    select array(select c.id from changed c where c.posted < 0), exists (
      select from filled f join {accounts} a on a.id = f.account
      where f.amount > 4503599627370496 or a.posted > 4611686018427387904
    ) into v_overdrawn, v_is_large;
    if v_is_large and exists (
      select from unnest(p_creditors) p(id) join {accounts} a on a.id = p.id
      where a.posted + (select coalesce(sum(e.amount), 0) from {earned} e where e.account = p.id) > 9223372036854775807
    ) then
      raise exception 'A balance would exceed 64 bits' using errcode = 'numeric_value_out_of_range';
    end if;
    if cardinality(v_overdrawn) > 0 then
      return query
        select 'balance'::text, s.place, b.posted, null::numeric, null::bigint, null::bigint[], null::text
        from (
          select a.id,
            (a.posted + (select coalesce(sum(e.amount), 0) from {earned} e where e.account = a.id))::bigint as posted
          from {accounts} a where a.id = any (v_overdrawn)
        ) b join unnest(p_payers, p_payer_places) s(id, place) on s.id = b.id where b.posted < 0;
    end if;
  end if;

  -- HOLDS -----------------------------------------------------------------------------------------------------------------

  if cardinality(p_holds) > 0 then
    v_facts := string_to_array(p_facts, E'\n');
    v_parts := string_to_array(p_limit_parts, E'\n');

    -- Find the period of each window that contains the batch's time; null if none of them does.
    if cardinality(p_limits) > 0 then
      select array_agg(p.starts_at order by w.place), array_agg(p.ends_at order by w.place) into v_starts, v_ends
      from generate_series(1, (select max(l.place) from unnest(p_limit_windows) l(place))) w(place)
      left join unnest(p_period_windows, p_period_starts, p_period_ends) p(place, starts_at, ends_at)
        on p.place = w.place and p.starts_at <= v_now and p.ends_at > v_now;
      v_limit_starts := array_fill(null::bigint, array[cardinality(p_limits)]);
      v_limit_lefts := v_limit_starts;
      v_limit_resets := v_limit_starts;
    end if;

    -- If an account covers all its holds of the batch, they are taken together, in one statement for all such accounts.
    if cardinality(p_group_accounts) > 0 then
      begin
        -- Find the groups that would exceed a limit if all groups were taken, and the answers for all limits if they are.
        -- The holds of such a group are checked one by one. So are holds outside of their periods, which may be repeats.
        -- Overdue holds count as held here. A batch without its busy commands still has their limits, whose buckets may not
        -- exist yet.
        v_within := array_fill(true, array[cardinality(p_group_accounts)]);
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
            from unnest(p_limit_holds, p_limit_buckets, p_limit_windows, p_limit_units, p_limits, p_limit_amounts)
              with ordinality l(hold, bucket, windows, unit, size, amount, place)
              left join {limit_buckets} b on b.id = p_buckets[l.bucket]
            window w as (partition by l.bucket)
          ) n;
          foreach v_place in array v_places loop
            if v_place > 0 then v_within[v_place] := false; end if;
          end loop;
        end if;

        -- Raise what is on hold for the accounts that cover their group. Few accounts earn, so the slots are only read if
        -- the account's row does not suffice. Overdue holds count as held here; if credit is lacking, the holds are checked
        -- again one by one.
        with covered as (
          update {accounts} a set held = a.held + g.total::bigint
          from unnest(p_group_accounts, p_group_totals) with ordinality g(id, total, place)
          where a.id = g.id and g.total > 0 and (
            a.posted::numeric - a.held >= g.total
            or a.posted::numeric - a.held
              + (select coalesce(sum(e.amount), 0) from {earned} e where e.account = a.id) >= g.total
          ) and v_within[g.place]
          returning g.place
        )
        select coalesce(array_agg(c.place), '{}') into v_places from covered c;
        v_covered := array(
          select coalesce(g.total = 0 and v_within[g.place], false)
          from unnest(p_group_totals) with ordinality g(total, place) order by g.place
        );
        foreach v_place in array v_places loop v_covered[v_place] := true; end loop;

        -- Count the limits of these groups: credits and tokens as held, requests as used. A later period resets a bucket. If
        -- some groups are not taken, more is left after the others.
        if cardinality(p_limits) > 0 then
          update {limit_buckets} b set
            starts_at = greatest(b.starts_at, c.starts_at),
            ends_at = case when b.starts_at < c.starts_at then c.ends_at else b.ends_at end,
            held = case when b.starts_at < c.starts_at then 0 else b.held end + c.held,
            used = case when b.starts_at < c.starts_at then 0 else b.used end + c.used
          from (
            select l.bucket, max(v_starts[l.windows]) as starts_at, max(v_ends[l.windows]) as ends_at,
              sum(case when l.unit = 'requests' then 0 else l.amount end)::bigint as held,
              sum(case when l.unit = 'requests' then l.amount else 0 end)::bigint as used
            from unnest(p_limit_holds, p_limit_buckets, p_limit_windows, p_limit_units, p_limits, p_limit_amounts)
              with ordinality l(hold, bucket, windows, unit, size, amount, place)
            where v_covered[p_hold_groups[l.hold]] group by l.bucket
          ) c where b.id = p_buckets[c.bucket];
          if false = any (v_covered) or 0 = any (p_hold_groups) then
            select array_agg(greatest(n.size - n.present + n.later, 0)::bigint order by n.place) into v_limit_lefts
            from (
              select l.place, l.size, b.used::numeric + b.held as present,
                coalesce(sum(l.amount) filter (where v_covered[p_hold_groups[l.hold]]) over (
                  partition by l.bucket order by l.place rows between 1 following and unbounded following
                ), 0) as later
              from unnest(p_limit_holds, p_limit_buckets, p_limit_windows, p_limit_units, p_limits, p_limit_amounts)
                with ordinality l(hold, bucket, windows, unit, size, amount, place)
                left join {limit_buckets} b on b.id = p_buckets[l.bucket]
            ) n;
          end if;
        end if;

        -- Store the holds.
        insert into {holds} (id, account, amount, state, expires_at, facts, limits, process)
        select h.id, h.account, h.amount, 0, v_now + h.ttl, h.facts,
          format(nullif(h.parts, ''), variadic v_limit_starts[h.first_limit:h.last_limit]), p_process
        from unnest(p_holds, p_hold_accounts, p_amounts, p_ttls, v_facts, p_hold_groups, p_first_limits, p_last_limits, v_parts)
          h(id, account, amount, ttl, facts, place, first_limit, last_limit, parts)
        where v_covered[h.place];
        get diagnostics v_count = row_count;
        v_plain := v_plain + v_count;
      exception when unique_violation then
        -- A hold that is known already must be looked at, and then nothing of its batch is taken together.
        v_covered := '{}';
      end;
    end if;

    -- The other holds, including those with a claim or a predecessor, are taken one by one.
    for v_place in 1 .. cardinality(p_holds) loop
      continue when v_covered[p_hold_groups[v_place]] or p_holds[v_place] is null;
      v_first := coalesce(p_first_limits[v_place], 1);
      v_last := coalesce(p_last_limits[v_place], 0);
      select t.kind, t.posted, t.available, t.entry_id, t.counts, t.limit_starts, t.limit_lefts, t.limit_resets, t.steps
      into kind, posted, available, entry_id, counts, v_new_starts, v_new_lefts, v_new_resets, v_steps
      from {take_hold_1}(p_holds[v_place], p_hold_accounts[v_place], p_amounts[v_place], v_now, p_ttls[v_place],
        p_hold_claims[v_place], p_replaces[v_place], v_facts[v_place],
        array(select p_buckets[l.place] from unnest(p_limit_buckets[v_first:v_last]) l(place)),
        p_limit_units[v_first:v_last], p_limits[v_first:v_last], p_limit_amounts[v_first:v_last],
        array(select v_starts[l.place] from unnest(p_limit_windows[v_first:v_last]) l(place)),
        array(select v_ends[l.place] from unnest(p_limit_windows[v_first:v_last]) l(place)),
        nullif(v_parts[v_place], ''), p_process, p_step_amounts[v_place], p_usual_steps[v_place], p_most_steps[v_place],
        p_hides_balance[v_place], coalesce(p_before_balance[v_place], 0), p_limit_steps[v_first:v_last],
        p_limit_hidden[v_first:v_last]) t;
      if kind = 'granted' and v_first <= v_last then
        v_limit_starts[v_first:v_last] := v_new_starts;
        v_limit_lefts[v_first:v_last] := v_new_lefts;
        v_limit_resets[v_first:v_last] := v_new_resets;
      end if;
      if v_steps is not null then
        return query
          select 'steps'::text, v_place::bigint, null::bigint, null::numeric, null::bigint, array[v_steps], null::text;
      end if;
      if kind = 'granted' then
        v_plain := v_plain + 1;
      else
        place := v_place;
        return next;
      end if;
    end loop;

    if cardinality(p_limits) > 0 then
      return query
        select c.kind, null::bigint, null::bigint, null::numeric, null::bigint, c.counts, null::text
        from (values ('starts', v_limit_starts), ('lefts', v_limit_lefts), ('resets', v_limit_resets)) c(kind, counts);
    end if;
  end if;

  return query select 'done'::text, v_plain, null::bigint, null::numeric, null::bigint, null::bigint[], null::text;
end
$function$`
