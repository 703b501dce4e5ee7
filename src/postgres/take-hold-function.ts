import { HOLD_STATE, hasClaim } from '../sql/hold-states.js'

const { open, released, settled } = HOLD_STATE

/** Grants or refuses one hold, after all checks. The caller has locked the account and set the planner's options. */
export const takeHoldFunction = `create function {take_hold_1}(
  p_id text, p_account text, p_amount bigint, p_now bigint, p_ttl bigint, p_claim text, p_replaces text, p_facts text
) returns table (kind text, posted bigint, available numeric, entry_id bigint)
language plpgsql
as $function$
#variable_conflict use_column
declare
  v_known {holds}%rowtype;
  v_old {holds}%rowtype;
  v_holder {holds}%rowtype;
  v_claim text := p_claim;
  v_freed bigint := 0;
  v_posted bigint := 0;
  v_held bigint := 0;
  v_available numeric;
  v_overdue numeric;
begin
  select * into v_known from {holds} h where h.id = p_id;
  if found then
    return query select case
      when v_known.state <> ${open} or v_known.expires_at <= p_now then 'closed'
      when v_known.account = p_account and v_known.amount = p_amount
        and v_known.replaces is not distinct from p_replaces
        and (v_known.claim is not distinct from p_claim or (p_claim is null and p_replaces is not null))
      then 'granted'
      else 'conflict'
    end, null::bigint, null::numeric, null::bigint;
    return;
  end if;

  if p_replaces is not null then
    select * into v_old from {holds} h where h.id = p_replaces for no key update;
    if v_old.state = ${settled} then
      return query select 'closed'::text, null::bigint, null::numeric, null::bigint;
      return;
    end if;
    if v_old.state = ${open} and v_old.expires_at > p_now then
      if v_old.account = p_account then v_freed := v_old.amount; end if;
      v_claim := coalesce(p_claim, v_old.claim);
    else
      v_old := null;
    end if;
  end if;

  if v_claim is not null then
    select h.* into v_holder from {claims} c join {holds} h on h.id = c.hold_id
    where c.claim = v_claim and h.id is distinct from p_replaces
      and ${hasClaim('p_now')};
    if found then
      return query select 'claimed'::text, null::bigint, null::numeric, v_holder.entry_id;
      return;
    end if;
  end if;

  select a.posted, a.held into v_posted, v_held from {accounts} a where a.id = p_account;
  v_posted := coalesce(v_posted, 0);
  v_available := v_posted::numeric - coalesce(v_held, 0) + v_freed;
  if p_amount > 0 and v_available < p_amount then
    select coalesce(sum(h.amount), 0) into v_overdue from {holds} h
    where h.state = ${open} and h.account = p_account and h.expires_at <= p_now;
    v_available := v_available + v_overdue;
    if v_available < p_amount then
      return query select 'insufficient'::text, v_posted, v_available, null::bigint;
      return;
    end if;
  end if;

  if v_claim is not null then
    -- The key makes a claim taken at this moment under another account's lock visible.
    insert into {claims} as c (claim, hold_id) values (v_claim, p_id)
    on conflict (claim) do update set hold_id = excluded.hold_id
    where c.hold_id is not distinct from p_replaces or not exists (
      select from {holds} h where h.id = c.hold_id and ${hasClaim('p_now')}
    );
    if not found then
      raise exception 'A claim was taken twice at once' using errcode = 'serialization_failure';
    end if;
  end if;
  if v_old.id is not null then
    update {holds} set state = ${released}, ended_at = p_now where id = v_old.id;
    update {accounts} set held = held - v_old.amount where id = v_old.account;
  end if;
  insert into {holds} (id, account, amount, state, expires_at, claim, replaces, facts)
  values (p_id, p_account, p_amount, ${open}, p_now + p_ttl, v_claim, p_replaces, p_facts);
  update {accounts} set held = held + p_amount where id = p_account and p_amount > 0;
  return query select 'granted'::text, null::bigint, null::numeric, null::bigint;
end
$function$`
