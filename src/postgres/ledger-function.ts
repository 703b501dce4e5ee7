import { ENTRY_COLUMNS } from '../sql/entry-rows.js'
import { DURABLE, NOW, SETTINGS } from './function-settings.js'
import { arrayOf, DECLARED_PARAMETERS } from './ledger-parameters.js'

const entryColumns = ENTRY_COLUMNS.join(', ')

/**
 * All commands of a batch in one transaction: releases, then settlements, then holds in their order.
 *
 * First it locks every account of the batch, in one order everywhere; what follows sees all that earlier batches did,
 * in whatever process. An account that covers all its holds of the batch gets them together; the others, and holds with
 * a claim or a predecessor, are taken one by one.
 *
 * Gives a row for each command whose outcome is not the plain one, a `balance` row for each payer below zero, and one
 * `done` row with the number of plain outcomes, by which the caller sees that none was forgotten.
 */
export const applyLedgerFunction = `create function {apply_ledger_1}(
  ${DECLARED_PARAMETERS}
) returns table (kind text, place bigint, posted bigint, available numeric, entry_id bigint)
language plpgsql
${SETTINGS}
as $function$
#variable_conflict use_column
declare
  v_now bigint;
  v_plain bigint := 0;
  v_count bigint;
  v_has_claims boolean;
  v_open_accounts text[];
  v_open_amounts bigint[];
  v_entries bigint[];
  v_lost bigint[] := '{}';
  v_covered boolean[] := '{}';
  v_places bigint[];
  v_facts text[];
  v_place int;
  v_state bigint;
  v_claim text;
begin
  ${DURABLE}
  perform from {accounts} a where a.id = any (p_accounts) order by a.id for no key update;
  get diagnostics v_count = row_count;
  if v_count < cardinality(p_accounts) and cardinality(p_creditors) > 0 then
    insert into {accounts} (id, created_at)
    select p.id, ${NOW} from unnest(p_creditors) p(id)
    where not exists (select from {accounts} a where a.id = p.id)
    order by 1 on conflict do nothing;
    perform from {accounts} a where a.id = any (p_accounts) order by a.id for no key update;
  end if;
  v_now := ${NOW};

  if cardinality(p_released) > 0 then
    return query
      with ended as (
        update {holds} h set state = 1, ended_at = v_now from unnest(p_released) r(id)
        where h.id = r.id and h.state = 0 and h.expires_at > v_now
        returning h.account, h.amount
      ), buried as (
        insert into {holds} (id, account, amount, state, expires_at, ended_at)
        select r.id, r.account, 0, 1, v_now, v_now from unnest(p_released, p_release_accounts) r(id, account)
        where not exists (select from {holds} h where h.id = r.id)
        on conflict do nothing
      ), freed as (
        update {accounts} a set held = a.held - e.amount
        from (select account, sum(amount)::bigint as amount from ended group by account) e where a.id = e.account
      )
      select 'settled'::text, r.place, null::bigint, null::numeric, null::bigint
      from unnest(p_released) with ordinality r(id, place) join {holds} h on h.id = r.id
      where h.state = 2;
    get diagnostics v_count = row_count;
    v_plain := v_plain + cardinality(p_released) - v_count;
  end if;

  if cardinality(p_hold_id) > 0 then
    v_entries := array(select nextval('{entries_id_seq}') from generate_series(1, cardinality(p_hold_id)));
    -- Not "state = 0", which would let the planner walk through all open holds by the index of those. The entry has the
    -- facts from here on.
    with ended as (
      update {holds} h set state = 2, ended_at = v_now, entry_id = s.entry_id, facts = null
      from unnest(p_hold_id, v_entries) s(id, entry_id)
      where h.id = s.id and h.state < 1
      returning h.account, h.amount, h.claim
    )
    select array_agg(e.account), array_agg(e.amount), coalesce(bool_or(e.claim is not null), false), count(*)
    into v_open_accounts, v_open_amounts, v_has_claims, v_count from ended e;

    -- Those that were not open: settled, ended otherwise, or never heard of.
    if v_count < cardinality(p_hold_id) then
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

    insert into {entries} (id, at, kind, ${entryColumns}) overriding system value
    select s.id, v_now, 'charge', ${ENTRY_COLUMNS.map((column) => `s.${column}`).join(', ')}
    from unnest(v_entries, ${ENTRY_COLUMNS.map(arrayOf).join(', ')}) s(id, ${entryColumns}) where s.id is not null;

    insert into {postings} (account, at, entry_id, amount)
    select p.account, v_now, v_entries[p.settlement], p.amount
    from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
    where v_entries[p.settlement] is not null;

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

    v_plain := v_plain + cardinality(p_hold_id);
    if array_position(v_entries, null) is not null then
      return query
        select 'repeated'::text, s.place, null::bigint, null::numeric, h.entry_id
        from unnest(p_hold_id, v_entries) with ordinality s(id, entry_id, place) join {holds} h on h.id = s.id
        where s.entry_id is null;
      get diagnostics v_count = row_count;
      v_plain := v_plain - v_count;
    end if;
    return query
      select 'claim-lost'::text, l.place, null::bigint, null::numeric, null::bigint from unnest(v_lost) l(place);
    return query
      with changed as (
        update {accounts} a set posted = a.posted + d.posted, held = a.held - d.freed
        from (
          select x.account, sum(x.posted)::bigint as posted, sum(x.freed)::bigint as freed from (
            select p.account, p.amount as posted, 0::bigint as freed
            from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
            where v_entries[p.settlement] is not null
            union all
            select o.account, 0::bigint, o.amount from unnest(v_open_accounts, v_open_amounts) o(account, amount)
            union all
            select s.id, 0::bigint, 0::bigint from unnest(p_payers) s(id)
          ) x group by x.account
        ) d where a.id = d.account
        returning a.id, a.posted
      )
      select 'balance'::text, s.place, c.posted, null::numeric, null::bigint
      from changed c join unnest(p_payers, p_payer_places) s(id, place) on s.id = c.id where c.posted < 0;
  end if;

  if cardinality(p_holds) > 0 then
    v_facts := ${arrayOf('facts')};
    if cardinality(p_group_accounts) > 0 then
      begin
        with covered as (
          update {accounts} a set held = a.held + g.total::bigint
          from unnest(p_group_accounts, p_group_totals) with ordinality g(id, total, place)
          where a.id = g.id and g.total > 0 and a.posted::numeric - a.held >= g.total
          returning g.place
        )
        select coalesce(array_agg(c.place), '{}') into v_places from covered c;
        v_covered := array(select g.total = 0 from unnest(p_group_totals) g(total));
        foreach v_place in array v_places loop v_covered[v_place] := true; end loop;
        insert into {holds} (id, account, amount, state, expires_at, facts)
        select h.id, h.account, h.amount, 0, v_now + h.ttl, h.facts
        from unnest(p_holds, p_hold_accounts, p_amounts, p_ttls, v_facts, p_hold_groups)
          h(id, account, amount, ttl, facts, place)
        where v_covered[h.place];
        get diagnostics v_count = row_count;
        v_plain := v_plain + v_count;
      exception when unique_violation then
        -- A hold that is known already must be looked at, and then nothing of its batch is taken together.
        v_covered := '{}';
      end;
    end if;

    for v_place in 1 .. cardinality(p_holds) loop
      continue when v_covered[p_hold_groups[v_place]];
      select t.kind, t.posted, t.available, t.entry_id into kind, posted, available, entry_id
      from {take_hold_1}(p_holds[v_place], p_hold_accounts[v_place], p_amounts[v_place], v_now, p_ttls[v_place],
        p_hold_claims[v_place], p_replaces[v_place], v_facts[v_place]) t;
      if kind = 'granted' then
        v_plain := v_plain + 1;
      else
        place := v_place;
        return next;
      end if;
    end loop;
  end if;

  return query select 'done'::text, v_plain, null::bigint, null::numeric, null::bigint;
end
$function$`
