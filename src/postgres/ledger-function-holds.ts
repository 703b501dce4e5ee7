import { HOLD_STATE } from '../sql/hold-states.js'
import { arrayOf } from './ledger-parameters.js'

/**
 * If an account covers all its holds of the batch, they are taken together, in one statement for all such accounts.
 * Overdue holds count as held here; if credit is lacking, the holds are checked again one by one.
 */
const TAKE_GROUPS = `if cardinality(p_group_accounts) > 0 then
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
        select h.id, h.account, h.amount, ${HOLD_STATE.open}, v_now + h.ttl, h.facts
        from unnest(p_holds, p_hold_accounts, p_amounts, p_ttls, v_facts, p_hold_groups)
          h(id, account, amount, ttl, facts, place)
        where v_covered[h.place];
        get diagnostics v_count = row_count;
        v_plain := v_plain + v_count;
      exception when unique_violation then
        -- A hold that is known already must be looked at, and then nothing of its batch is taken together.
        v_covered := '{}';
      end;
    end if;`

/** The other holds, including those with a claim or a predecessor, are taken one by one. */
const TAKE_OTHERS = `for v_place in 1 .. cardinality(p_holds) loop
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
    end loop;`

/** The step of the ledger function that takes a batch's holds. */
export const TAKE_HOLDS = `if cardinality(p_holds) > 0 then
    v_facts := ${arrayOf('facts')};
    ${TAKE_GROUPS}

    ${TAKE_OTHERS}
  end if;`
