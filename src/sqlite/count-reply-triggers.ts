const takeOut = `update {reply_totals} set size_bytes = size_bytes - old.size_bytes where account = old.account;`
const putIn = `insert into {reply_totals} (account, size_bytes) values (new.account, new.size_bytes)
  on conflict (account) do update set size_bytes = size_bytes + excluded.size_bytes;`

/** What a reply's body takes goes into its account's total with it, and out of it again. */
export const countReplyTriggers = [
  `create trigger compat_reply_inserted after insert on {replies} when new.size_bytes > 0
    begin ${putIn} end`,
  `create trigger compat_reply_updated after update of account, size_bytes on {replies}
    when old.size_bytes > 0 or new.size_bytes > 0
    begin ${takeOut} ${putIn} end`,
  `create trigger compat_reply_deleted after delete on {replies} when old.size_bytes > 0
    begin ${takeOut} end`,
]
