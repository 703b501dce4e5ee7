import { ENTRY_COLUMNS, FIRST_ENTRY_COLUMNS } from '../sql/entry-rows.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import { DURABLE, NOW, PROCESS_GONE, SETTINGS } from './function-settings.js'
import { takeHolds } from './ledger-function-holds.js'
import { LANE_VARIABLES, LOCK_FREE_ROWS } from './ledger-function-lanes.js'
import { freeBuckets, LOCK_BUCKETS } from './ledger-function-limits.js'
import { settle } from './ledger-function-settlements.js'
import { declaredParameters, type FunctionVersion, noCounts } from './ledger-parameters.js'

const { open, released, settled } = HOLD_STATE

/**
 * Batches that share an account wait for each other here, in any process. Later statements see all changes of earlier
 * batches. The order is always the same, so batches cannot deadlock. An account is created by its first posting. Another
 * process may create it at the same time, so all accounts are locked again.
 */
const LOCK_ACCOUNTS = `perform from {accounts} a where a.id = any (p_accounts) order by a.id for no key update;
  get diagnostics v_count = row_count;
  if v_count < cardinality(p_accounts) and cardinality(p_creditors) > 0 then
    insert into {accounts} (id, created_at)
    select p.id, ${NOW} from unnest(p_creditors) p(id)
    where not exists (select from {accounts} a where a.id = p.id)
    order by 1 on conflict do nothing;
    perform from {accounts} a where a.id = any (p_accounts) order by a.id for no key update;
  end if;`

/**
 * Keeps the process from being cleared until this batch has committed. A process that was cleared takes no hold under its
 * old id: nothing would end that hold if the process died.
 */
const LOCK_PROCESS = `if p_process is not null and cardinality(p_holds) > 0 then
    perform from {processes} p where p.id = p_process for key share;
    if not found then
      raise exception 'The process % was cleared', p_process using errcode = '${PROCESS_GONE}';
    end if;
  end if;`

/** An unknown hold is stored as released, so that it is refused if it arrives later. */
function release(version: FunctionVersion): string {
  const { hasLimits, hasLanes } = version
  return `if cardinality(p_released) > 0 then
    return query
      with ended as (
        update {holds} h set state = ${released}, ended_at = v_now from unnest(p_released) r(id)
        where h.id = r.id and h.state = ${open} and h.expires_at > v_now
        returning h.account, h.amount${hasLimits ? ', h.limits' : ''}
      ), buried as (
        insert into {holds} (id, account, amount, state, expires_at, ended_at)
        select r.id, r.account, 0, ${released}, v_now, v_now from unnest(p_released, p_release_accounts) r(id, account)
        where ${hasLanes ? 'r.id is not null and ' : ''}not exists (select from {holds} h where h.id = r.id)
        on conflict do nothing
      ), freed as (
        update {accounts} a set held = a.held - e.amount
        from (select account, sum(amount)::bigint as amount from ended group by account) e where a.id = e.account
      )${hasLimits ? `, returned as (${freeBuckets('(select e.limits from ended e)')})` : ''}
      select 'settled'::text, r.place, null::bigint, null::numeric, null::bigint${noCounts(version)}
      from unnest(p_released) with ordinality r(id, place) join {holds} h on h.id = r.id
      where h.state = ${settled};
    get diagnostics v_count = row_count;
    v_plain := v_plain + cardinality(p_released) - v_count${hasLanes ? ' - v_busy_releases' : ''};
  end if;`
}

/**
 * Runs all commands of a batch in one transaction: releases, then settlements, then holds in their order.
 *
 * Returns a row for each command whose outcome is not the plain one, a `balance` row for each payer below zero, and one
 * `done` row with the number of plain outcomes, so that the caller can check that none is missing. If holds have limits, three
 * rows have the answers for all granted limits in their order: the beginnings of their periods, the amounts left, and the time
 * until their periods end. If the function knows lanes, each command that needs a busy row gets a row with that row's name
 * instead, and has no effect.
 *
 * The variables that the steps share:
 *
 * - `v_now`: the time of the batch, read after the wait for the locks, so that it is not before that of an earlier batch.
 * - `v_plain`: the number of commands with the plain outcome.
 * - `v_entries`: the id of each settlement's entry, null for a repeat.
 * - `v_open_accounts`, `v_open_amounts`: the amounts that were freed by settling open holds.
 * - `v_has_claims`: whether a settled hold may have a claim.
 * - `v_lost`: the places of settlements whose claim another hold has.
 * - `v_covered`: for each group of holds, whether they were taken together.
 * - `v_buckets`: the buckets to lock.
 * - `v_open_limits`: the parts of buckets that were freed by settling open holds.
 * - `v_starts`, `v_ends`: for each of the batch's windows, the period that contains `v_now`.
 * - `v_limit_starts`, `v_limit_lefts`, `v_limit_resets`: the answers for granted limits.
 * - `v_within`: for each group of holds, whether all groups together are within its limits.
 * - `v_busy_accounts`, `v_busy_buckets`: the rows that other transactions have locked.
 * - `v_busy_releases`, `v_busy_settlements`: the numbers of commands that were taken out of the batch.
 */
function applyLedgerFunction(name: string, version: FunctionVersion, settings: string): string {
  const { hasLimits, hasLanes } = version
  return `create function {${name}}(
  ${declaredParameters(version)}
) returns table (kind text, place bigint, posted bigint, available numeric, entry_id bigint${hasLimits ? ', counts bigint[]' : ''}${hasLanes ? ', awaited text' : ''})
language plpgsql
${settings}
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
  ${hasLimits ? LIMIT_VARIABLES : ''}
  ${hasLanes ? LANE_VARIABLES : ''}
begin
  ${DURABLE}
  ${hasLanes ? LOCK_PROCESS : ''}
  ${hasLanes ? LOCK_FREE_ROWS : LOCK_ACCOUNTS}
  ${hasLimits && !hasLanes ? LOCK_BUCKETS : ''}
  v_now := ${NOW};

  ${release(version)}

  ${settle(version)}

  ${takeHolds(version)}

  return query select 'done'::text, v_plain, null::bigint, null::numeric, null::bigint${noCounts(version)};
end
$function$`
}

const LIMIT_VARIABLES = `v_buckets text[];
  v_open_limits text[];
  v_starts bigint[];
  v_ends bigint[];
  v_limit_starts bigint[];
  v_limit_lefts bigint[];
  v_limit_resets bigint[];
  v_within boolean[];
  v_parts text[];
  v_first int;
  v_last int;
  v_new_starts bigint[];
  v_new_lefts bigint[];
  v_new_resets bigint[];`

/** The function of the first version. Earlier releases that run beside this one still call it. */
export const applyLedger1Function = applyLedgerFunction(
  'apply_ledger_1',
  { entryColumns: FIRST_ENTRY_COLUMNS, hasLimits: false, hasLanes: false },
  SETTINGS,
)

const PATIENT_SETTINGS = `${SETTINGS}
  set lock_timeout = '1s'`

/** Also writes the counts of audio and image tokens. */
export const applyLedger2Function = applyLedgerFunction(
  'apply_ledger_2',
  { entryColumns: ENTRY_COLUMNS, hasLimits: false, hasLanes: false },
  PATIENT_SETTINGS,
)

/** Also keeps limits. */
export const applyLedger3Function = applyLedgerFunction(
  'apply_ledger_3',
  { entryColumns: ENTRY_COLUMNS, hasLimits: true, hasLanes: false },
  PATIENT_SETTINGS,
)

/** Shorter than the wait of an earlier function, since other busy rows have to wait for their turn meanwhile. */
const LANE_SETTINGS = `${SETTINGS}
  set lock_timeout = '250ms'`

/** Also notes which process takes a hold, leaves out commands whose rows are busy, and adds earnings to slots. */
export const applyLedger4Function = applyLedgerFunction(
  'apply_ledger_4',
  { entryColumns: ENTRY_COLUMNS, hasLimits: true, hasLanes: true },
  LANE_SETTINGS,
)
