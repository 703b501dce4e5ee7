import { ENTRY_COLUMN_TYPES, ENTRY_COLUMNS } from '../sql/entry-rows.js'
import { DURABLE, NOW, SETTINGS } from './function-settings.js'

const entryParameters = ENTRY_COLUMNS.map((column) => `p_${column} ${ENTRY_COLUMN_TYPES[column]}[]`).join(
  ',\n  ',
)
const entryArrays = ENTRY_COLUMNS.map((column) => `p_${column}`).join(', ')
const entryColumns = ENTRY_COLUMNS.join(', ')
const entryValues = ENTRY_COLUMNS.map((column) => `s.${column}`).join(', ')

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
  p_accounts text[],
  p_released text[],
  p_release_accounts text[],
  p_claims text[],
  ${entryParameters},
  p_posting_settlements int[],
  p_posting_accounts text[],
  p_posting_amounts bigint[],
  p_group_accounts text[],
  p_group_totals numeric[],
  p_holds text[],
  p_hold_groups int[],
  p_hold_accounts text[],
  p_amounts bigint[],
  p_ttls bigint[],
  p_hold_claims text[],
  p_replaces text[],
  p_facts text[]
) returns table (kind text, place bigint, posted bigint, available numeric, entry_id bigint)
language plpgsql
${SETTINGS}
as $function$
#variable_conflict use_column
declare
  v_now bigint;
  v_plain bigint := 0;
  v_count bigint;
  v_expected bigint;
  v_states bigint[];
  v_claims text[];
  v_open_accounts text[];
  v_open_amounts bigint[];
  v_entries bigint[];
  v_lost bigint[] := '{}';
  v_covered boolean[] := '{}';
  v_place int;
begin
  ${DURABLE}
  if cardinality(p_posting_accounts) > 0 then
    insert into {accounts} (id, created_at)
    select distinct p.id, ${NOW} from unnest(p_posting_accounts) p(id)
    where not exists (select from {accounts} a where a.id = p.id)
    order by 1 on conflict do nothing;
  end if;
  perform from {accounts} a where a.id = any (p_accounts) order by a.id for no key update;
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
    select array_agg(h.state order by s.place),
      array_agg(coalesce(s.claim, h.claim) order by s.place),
      array_agg(case when h.state = 0 then h.account end order by s.place),
      array_agg(case when h.state = 0 then h.amount end order by s.place),
      array_agg(case when h.state is distinct from 2 then nextval('{entries_id_seq}') end order by s.place),
      count(*) filter (where h.state is distinct from 2)
    into v_states, v_claims, v_open_accounts, v_open_amounts, v_entries, v_expected
    from unnest(p_hold_id, p_claims) with ordinality s(id, claim, place) left join {holds} h on h.id = s.id;

    update {holds} h set state = 2, ended_at = v_now, entry_id = s.entry_id
    from unnest(p_hold_id, v_entries) s(id, entry_id)
    where h.id = s.id and s.entry_id is not null and h.state <> 2;
    get diagnostics v_count = row_count;
    v_expected := v_expected - v_count;
    insert into {holds} (id, account, amount, state, expires_at, ended_at, entry_id)
    select s.id, s.account, 0, 2, v_now, v_now, s.entry_id
    from unnest(p_hold_id, p_account, v_states, v_entries) s(id, account, state, entry_id)
    where s.state is null on conflict do nothing;
    get diagnostics v_count = row_count;
    if v_count <> v_expected then
      raise exception 'A hold was settled twice at once' using errcode = 'serialization_failure';
    end if;

    insert into {entries} (id, at, kind, ${entryColumns}) overriding system value
    select s.id, v_now, 'charge', ${entryValues}
    from unnest(v_entries, ${entryArrays}) s(id, ${entryColumns}) where s.id is not null;

    insert into {postings} (account, at, entry_id, amount)
    select p.account, v_now, v_entries[p.settlement], p.amount
    from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
    where v_entries[p.settlement] is not null;

    update {accounts} a set posted = a.posted + d.posted, held = a.held - d.freed
    from (
      select x.account, sum(x.posted)::bigint as posted, sum(x.freed)::bigint as freed from (
        select p.account, p.amount as posted, 0::bigint as freed
        from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
        where v_entries[p.settlement] is not null
        union all
        select o.account, 0::bigint, o.amount from unnest(v_open_accounts, v_open_amounts) o(account, amount)
        where o.account is not null
      ) x group by x.account
    ) d where a.id = d.account;

    for v_place in select s.place from unnest(v_claims, v_entries) with ordinality s(claim, entry_id, place)
      where s.claim is not null and s.entry_id is not null order by s.place
    loop
      insert into {claims} as c (claim, hold_id) values (v_claims[v_place], p_hold_id[v_place])
      on conflict (claim) do update set hold_id = excluded.hold_id
      where c.hold_id = excluded.hold_id or not exists (
        select from {holds} h where h.id = c.hold_id and (h.state = 2 or (h.state = 0 and h.expires_at > v_now))
      );
      if not found then v_lost := v_lost || v_place::bigint; end if;
    end loop;

    return query
      select 'repeated'::text, s.place, null::bigint, null::numeric, h.entry_id
      from unnest(p_hold_id, v_entries) with ordinality s(id, entry_id, place) join {holds} h on h.id = s.id
      where s.entry_id is null;
    get diagnostics v_count = row_count;
    v_plain := v_plain + cardinality(p_hold_id) - v_count;
    return query
      select 'claim-lost'::text, l.place, null::bigint, null::numeric, null::bigint from unnest(v_lost) l(place);
    return query
      select 'balance'::text, min(s.place), a.posted, null::numeric, null::bigint
      from unnest(p_account) with ordinality s(id, place) join {accounts} a on a.id = s.id
      where a.posted < 0 group by a.id, a.posted;
  end if;

  if cardinality(p_holds) > 0 then
    if cardinality(p_group_accounts) > 0 then
      select array_agg(g.total = 0 or coalesce(a.posted::numeric - a.held >= g.total, false) order by g.place)
      into v_covered
      from unnest(p_group_accounts, p_group_totals) with ordinality g(id, total, place)
      left join {accounts} a on a.id = g.id;

      -- A hold that is known already must be looked at, and then nothing of its batch is taken together.
      if exists (select from unnest(p_holds) s(id) join {holds} h on h.id = s.id) then
        v_covered := '{}';
      end if;
      insert into {holds} (id, account, amount, state, expires_at, facts)
      select h.id, h.account, h.amount, 0, v_now + h.ttl, h.facts
      from unnest(p_holds, p_hold_accounts, p_amounts, p_ttls, p_facts, p_hold_groups)
        h(id, account, amount, ttl, facts, place)
      where v_covered[h.place];
      get diagnostics v_count = row_count;
      v_plain := v_plain + v_count;
      update {accounts} a set held = a.held + g.total::bigint
      from unnest(p_group_accounts, p_group_totals, v_covered) g(id, total, covered)
      where a.id = g.id and g.covered and g.total > 0;
    end if;

    for v_place in 1 .. cardinality(p_holds) loop
      continue when v_covered[p_hold_groups[v_place]];
      select t.kind, t.posted, t.available, t.entry_id into kind, posted, available, entry_id
      from {take_hold_1}(p_holds[v_place], p_hold_accounts[v_place], p_amounts[v_place], v_now, p_ttls[v_place],
        p_hold_claims[v_place], p_replaces[v_place], p_facts[v_place]) t;
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
