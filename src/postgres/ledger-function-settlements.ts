import type { EntryColumn } from '../sql/entry-rows.js'
import { HOLD_STATE, hasClaim } from '../sql/hold-states.js'
import { MOVE_CREDITS } from './ledger-function-lanes.js'
import { SETTLE_BUCKETS } from './ledger-function-limits.js'
import { arrayOf, type FunctionVersion, noCounts } from './ledger-parameters.js'

const { released, settled, expired } = HOLD_STATE

/** An entry's id is drawn before its hold is known, and lost if the settlement is a repeat. */
function endOpenHolds({ hasLimits, hasLanes }: FunctionVersion): string {
  return `v_entries := array(${hasLanes ? DRAW_ENTRIES_WITHOUT_BUSY : "select nextval('{entries_id_seq}') from generate_series(1, cardinality(p_hold_id))"});
    -- Not "state = 0", which would let the planner walk through all open holds by the index of those. The entry has the
    -- facts from here on.
    with ended as (
      update {holds} h set state = ${settled}, ended_at = v_now, entry_id = s.entry_id, facts = null
      from unnest(p_hold_id, v_entries) s(id, entry_id)
      where h.id = s.id and h.state < ${released}
      returning h.account, h.amount, h.claim${hasLimits ? ', h.limits' : ''}
    )
    select array_agg(e.account), array_agg(e.amount), coalesce(bool_or(e.claim is not null), false), count(*)
      ${hasLimits ? ', array_agg(e.limits) filter (where e.limits is not null)' : ''}
    into v_open_accounts, v_open_amounts, v_has_claims, v_count${hasLimits ? ', v_open_limits' : ''} from ended e;`
}

/** A settlement that was taken out of the batch has no hold, and gets no entry. */
const DRAW_ENTRIES_WITHOUT_BUSY =
  "select case when s.id is not null then nextval('{entries_id_seq}') end from unnest(p_hold_id) s(id)"

/** SQL for the number of settlements in the batch. */
function settlementCount({ hasLanes }: FunctionVersion): string {
  return hasLanes ? 'cardinality(p_hold_id) - v_busy_settlements' : 'cardinality(p_hold_id)'
}

/**
 * A repeat loses its entry. An unknown, released or expired hold is settled all the same, because the call was made. If no
 * row could be inserted or updated, another batch has changed the hold at the same time, under another account's lock.
 * This batch then has no effect and is retried.
 */
const endOtherHolds = (
  version: FunctionVersion,
): string => `-- Those that were not open: settled, ended otherwise, or never heard of.
    if v_count < ${settlementCount(version)} then
      v_has_claims := true;
      for v_place, v_state in
        select s.place, h.state
        from unnest(p_hold_id, v_entries) with ordinality s(id, entry_id, place) left join {holds} h on h.id = s.id
        where h.entry_id is distinct from s.entry_id
      loop
        if v_state = ${settled} then
          v_entries[v_place] := null;
          continue;
        elsif v_state is null then
          insert into {holds} (id, account, amount, state, expires_at, ended_at, entry_id)
          values (p_hold_id[v_place], p_account[v_place], 0, ${settled}, v_now, v_now, v_entries[v_place])
          on conflict do nothing;
        else
          update {holds} h set state = ${settled}, ended_at = v_now, entry_id = v_entries[v_place]
          where h.id = p_hold_id[v_place] and h.state in (${released}, ${expired});
        end if;
        if not found then
          raise exception 'A hold was settled twice at once' using errcode = 'serialization_failure';
        end if;
      end loop;
    end if;`

function writeEntries(entryColumns: readonly EntryColumn[]): string {
  const columns = entryColumns.join(', ')
  const values = entryColumns.map((column) => `s.${column}`).join(', ')
  const arrays = entryColumns.map(arrayOf).join(', ')
  return `insert into {entries} (id, at, kind, ${columns}) overriding system value
    select s.id, v_now, 'charge', ${values}
    from unnest(v_entries, ${arrays}) s(id, ${columns}) where s.id is not null;

    insert into {postings} (account, at, entry_id, amount)
    select p.account, v_now, v_entries[p.settlement], p.amount
    from unnest(p_posting_settlements, p_posting_accounts, p_posting_amounts) p(settlement, account, amount)
    where v_entries[p.settlement] is not null;`
}

/** A settlement without a claim takes that of its hold. A hold that already has the claim, open or settled, keeps it. */
const TAKE_CLAIMS = `if v_has_claims or array_remove(p_claims, null) <> '{}' then
      for v_place, v_claim in
        select s.place, coalesce(s.claim, h.claim)
        from unnest(p_hold_id, p_claims, v_entries) with ordinality s(id, claim, entry_id, place)
        join {holds} h on h.id = s.id
        where s.entry_id is not null and coalesce(s.claim, h.claim) is not null order by s.place
      loop
        insert into {claims} as c (claim, hold_id) values (v_claim, p_hold_id[v_place])
        on conflict (claim) do update set hold_id = excluded.hold_id
        where c.hold_id = excluded.hold_id or not exists (
          select from {holds} h where h.id = c.hold_id and ${hasClaim('v_now')}
        );
        if not found then v_lost := v_lost || v_place::bigint; end if;
      end loop;
    end if;`

/** Every settlement except a repeat counts as plain. A lost claim is reported in addition. */
function answer(version: FunctionVersion): string {
  return `v_plain := v_plain + ${settlementCount(version)};
    if array_position(v_entries, null) is not null then
      return query
        select 'repeated'::text, s.place, null::bigint, null::numeric, h.entry_id${noCounts(version)}
        from unnest(p_hold_id, v_entries) with ordinality s(id, entry_id, place) join {holds} h on h.id = s.id
        where s.entry_id is null;
      get diagnostics v_count = row_count;
      v_plain := v_plain - v_count;
    end if;
    return query
      select 'claim-lost'::text, l.place, null::bigint, null::numeric, null::bigint${noCounts(version)}
      from unnest(v_lost) l(place);`
}

/** Changes each account once, by all its postings and freed holds. Payers are included with zero, so that each is read. */
function changeBalances(version: FunctionVersion): string {
  return `return query
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
      select 'balance'::text, s.place, c.posted, null::numeric, null::bigint${noCounts(version)}
      from changed c join unnest(p_payers, p_payer_places) s(id, place) on s.id = c.id where c.posted < 0;`
}

/** Returns the step of a ledger function that runs a batch's settlements. */
export function settle(version: FunctionVersion): string {
  return `if cardinality(p_hold_id) > 0 then
    ${endOpenHolds(version)}

    ${endOtherHolds(version)}

    ${writeEntries(version.entryColumns)}

    ${TAKE_CLAIMS}

    ${version.hasLimits ? SETTLE_BUCKETS : ''}

    ${answer(version)}
    ${version.hasLanes ? MOVE_CREDITS : changeBalances(version)}
  end if;`
}
