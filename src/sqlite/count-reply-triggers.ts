const subtract = `update {reply_totals} set size_bytes = size_bytes - old.size_bytes where account = old.account;`
const add = `insert into {reply_totals} (account, size_bytes) values (new.account, new.size_bytes)
  on conflict (account) do update set size_bytes = size_bytes + excluded.size_bytes;`

/** Add the size of a reply's body to its account's total, and subtract it again. */
export const countReplyTriggers = [
  `create trigger compat_reply_inserted after insert on {replies} when new.size_bytes > 0
    begin ${add} end`,
  `create trigger compat_reply_updated after update of account, size_bytes on {replies}
    when old.size_bytes > 0 or new.size_bytes > 0
    begin ${subtract} ${add} end`,
  `create trigger compat_reply_deleted after delete on {replies} when old.size_bytes > 0
    begin ${subtract} end`,
]
