import { HOLD_STATE } from '../sql/hold-states.js'
import { earnedBy } from './ledger-function-lanes.js'
import { countGroups, FIND_PERIODS, findWithin } from './ledger-function-limits.js'
import { arrayOf, type FunctionVersion, noAwaited } from './ledger-parameters.js'

/**
 * If an account covers all its holds of the batch, they are taken together, in one statement for all such accounts.
 * Overdue holds count as held here; if credit is lacking, the holds are checked again one by one.
 */
function takeGroups(version: FunctionVersion): string {
  const { hasLimits, hasLanes } = version
  const andWithin = hasLimits ? 'and v_within[g.place]' : ''
  return `if cardinality(p_group_accounts) > 0 then
      begin
        ${hasLimits ? findWithin(version) : ''}
        with covered as (
          update {accounts} a set held = a.held + g.total::bigint
          from unnest(p_group_accounts, p_group_totals) with ordinality g(id, total, place)
          where a.id = g.id and g.total > 0 and ${hasLanes ? COVERS_WITH_EARNINGS : COVERS} ${andWithin}
          returning g.place
        )
        select coalesce(array_agg(c.place), '{}') into v_places from covered c;
        v_covered := array(
          select ${hasLanes ? `coalesce(g.total = 0 ${andWithin}, false)` : `g.total = 0 ${andWithin}`} from unnest(p_group_totals) with ordinality g(total, place) order by g.place
        );
        foreach v_place in array v_places loop v_covered[v_place] := true; end loop;
        ${hasLimits ? countGroups(version) : ''}
        insert into {holds} (id, account, amount, state, expires_at, facts${hasLimits ? ', limits' : ''}${hasLanes ? ', process' : ''})
        select h.id, h.account, h.amount, ${HOLD_STATE.open}, v_now + h.ttl, h.facts
          ${hasLimits ? ", format(nullif(h.parts, ''), variadic v_limit_starts[h.first_limit:h.last_limit])" : ''}
          ${hasLanes ? ', p_process' : ''}
        from unnest(p_holds, p_hold_accounts, p_amounts, p_ttls, v_facts, p_hold_groups${hasLimits ? ', p_first_limits, p_last_limits, v_parts' : ''})
          h(id, account, amount, ttl, facts, place${hasLimits ? ', first_limit, last_limit, parts' : ''})
        where v_covered[h.place];
        get diagnostics v_count = row_count;
        v_plain := v_plain + v_count;
      exception when unique_violation then
        -- A hold that is known already must be looked at, and then nothing of its batch is taken together.
        v_covered := '{}';
      end;
    end if;`
}

const COVERS = 'a.posted::numeric - a.held >= g.total'

/** Few accounts earn, so the slots are only read if the account's row does not suffice. */
const COVERS_WITH_EARNINGS = `(${COVERS} or a.posted::numeric - a.held + ${earnedBy('a.id')} >= g.total)`

/** The other holds, including those with a claim or a predecessor, are taken one by one. */
function takeOthers(version: FunctionVersion): string {
  const { hasLimits, hasLanes } = version
  const take = hasLimits ? takeWithLimits(version) : TAKE_WITHOUT_LIMITS
  return `for v_place in 1 .. cardinality(p_holds) loop
      continue when v_covered[p_hold_groups[v_place]]${hasLanes ? ' or p_holds[v_place] is null' : ''};
      ${take}
      if kind = 'granted' then
        v_plain := v_plain + 1;
      else
        place := v_place;
        return next;
      end if;
    end loop;`
}

const TAKE_WITHOUT_LIMITS = `select t.kind, t.posted, t.available, t.entry_id into kind, posted, available, entry_id
      from {take_hold_1}(p_holds[v_place], p_hold_accounts[v_place], p_amounts[v_place], v_now, p_ttls[v_place],
        p_hold_claims[v_place], p_replaces[v_place], v_facts[v_place]) t;`

function takeWithLimits({ hasLanes }: FunctionVersion): string {
  return `v_first := ${hasLanes ? 'coalesce(p_first_limits[v_place], 1)' : 'p_first_limits[v_place]'};
      v_last := ${hasLanes ? 'coalesce(p_last_limits[v_place], 0)' : 'p_last_limits[v_place]'};
      select t.kind, t.posted, t.available, t.entry_id, t.counts, t.limit_starts, t.limit_lefts, t.limit_resets
      into kind, posted, available, entry_id, counts, v_new_starts, v_new_lefts, v_new_resets
      from {${hasLanes ? 'take_hold_3' : 'take_hold_2'}}(p_holds[v_place], p_hold_accounts[v_place], p_amounts[v_place], v_now, p_ttls[v_place],
        p_hold_claims[v_place], p_replaces[v_place], v_facts[v_place],
        array(select p_buckets[l.place] from unnest(p_limit_buckets[v_first:v_last]) l(place)),
        p_limit_units[v_first:v_last], p_limits[v_first:v_last], p_limit_amounts[v_first:v_last],
        array(select v_starts[l.place] from unnest(p_limit_windows[v_first:v_last]) l(place)),
        array(select v_ends[l.place] from unnest(p_limit_windows[v_first:v_last]) l(place)),
        nullif(v_parts[v_place], '')${hasLanes ? ', p_process' : ''}) t;
      if kind = 'granted' and v_first <= v_last then
        v_limit_starts[v_first:v_last] := v_new_starts;
        v_limit_lefts[v_first:v_last] := v_new_lefts;
        v_limit_resets[v_first:v_last] := v_new_resets;
      end if;`
}

/** Returns the step of a ledger function that takes a batch's holds. */
export function takeHolds(version: FunctionVersion): string {
  return `if cardinality(p_holds) > 0 then
    v_facts := ${arrayOf('facts')};
    ${
      version.hasLimits
        ? `v_parts := ${arrayOf('limit_parts')};
    ${FIND_PERIODS}`
        : ''
    }

    ${takeGroups(version)}

    ${takeOthers(version)}
    ${version.hasLimits ? answerLimits(version) : ''}
  end if;`
}

const answerLimits = (version: FunctionVersion): string => `if cardinality(p_limits) > 0 then
      return query
        select c.kind, null::bigint, null::bigint, null::numeric, null::bigint, c.counts${noAwaited(version)}
        from (values ('starts', v_limit_starts), ('lefts', v_limit_lefts), ('resets', v_limit_resets)) c(kind, counts);
    end if;`
