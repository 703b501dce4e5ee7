/** Adds the size of a reply's body to its account's total, and subtracts it again. */
export const countReplies = [
  `create function {count_reply_1}() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
  if tg_op <> 'INSERT' and old.size_bytes > 0 then
    update {reply_totals} set size_bytes = size_bytes - old.size_bytes where account = old.account;
  end if;
  if tg_op <> 'DELETE' and new.size_bytes > 0 then
    insert into {reply_totals} as t (account, size_bytes) values (new.account, new.size_bytes)
    on conflict (account) do update set size_bytes = t.size_bytes + excluded.size_bytes;
  end if;
  return null;
end
$function$`,
  `create trigger compat_count_reply
  after insert or delete or update of account, size_bytes on {replies}
  for each row execute function {count_reply_1}()`,
]
