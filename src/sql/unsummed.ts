import type { SqlDatabase, Statement } from './database.js'

/**
 * Entries on their way to the totals. Each waits for the totals of charges at first, and then for those by account.
 *
 * - PostgreSQL: a transaction that writes entries inserts a row with their ids into `unsummed`, which becomes visible with
 *   them. The transaction that adds them to the totals of charges deletes that row, and puts their ids into `unkeyed`. The
 *   one that adds them to the totals by account takes them out. So each entry is in exactly one of these places, whatever the
 *   order of commits. No mark over ids or times could tell, since both are taken before a commit.
 * - SQLite: there is one writer, so ids are in the order of commits, and two marks over them suffice: `summed.entry_id`, and
 *   `summed.keyed_id`, which follows it.
 *
 * `at` of `unsummed`, `unkeyed` and `summed` is a time that no entry there precedes. It only shortens the search for the
 * entries of one account.
 */

type Engine = SqlDatabase['engine']

const SUMMED = '(select summed.entry_id from {summed} summed)'
const KEYED = '(select summed.keyed_id from {summed} summed)'

/** The entries are looked up one by one: the planner cannot know how few there are. */
const UNSUMMED = `select f.* from (select unnest(ids) as id from {unsummed}) u
  cross join lateral (select * from {entries} f where f.id = u.id limit 1) f`
const UNKEYED_RANGES = '(select range_agg(k.ids) from (select unnest(ids) as ids from {unkeyed}) k)'
const UNKEYED = `select f.* from (select unnest(ids) as ids from {unkeyed}) u
  cross join lateral (select * from {entries} f where f.id >= lower(u.ids) and f.id < upper(u.ids) offset 0) f`

/** SQL for the table `e` of the entries that the totals of charges do not contain yet. */
export function unsummedEntries(engine: Engine): string {
  return engine === 'postgres' ? `(${UNSUMMED}) e` : `(select f.* from {entries} f where f.id > ${SUMMED}) e`
}

/** SQL for the table `e` of the entries that the totals by account do not contain yet. */
export function unkeyedEntries(engine: Engine): string {
  return engine === 'postgres'
    ? `(${UNSUMMED} union all ${UNKEYED}) e`
    : `(select f.* from {entries} f where f.id > ${KEYED}) e`
}

/**
 * SQL for the postings `p` of an account, and their entries `e`, that the totals by account do not contain yet. `since` is
 * true for all of these postings, and few others.
 */
export function unkeyedOfAccount(engine: Engine, account: string): EntrySource & { readonly since: string } {
  const isUnkeyed =
    engine === 'postgres'
      ? `(p.entry_id <@ ${UNKEYED_RANGES} or p.entry_id in (select unnest(u.ids) from {unsummed} u))`
      : `p.entry_id > ${KEYED}`
  const times =
    engine === 'postgres'
      ? 'select k.at from {unkeyed} k union all select u.at from {unsummed} u'
      : `select summed.at from {summed} summed union all select f.at from {entries} f where f.id > ${SUMMED}`
  const since = `p.account = ${account} and p.at >= (select min(w.at) from (${times}) w)`
  return {
    since,
    // As above, entries are looked up one by one.
    from:
      engine === 'postgres'
        ? '{postings} p cross join lateral (select * from {entries} f where f.id = p.entry_id limit 1) e'
        : '{postings} p join {entries} e on e.id = p.entry_id',
    where: `${since} and ${isUnkeyed}`,
  }
}

/** Where entries `e` come from, and which of them are meant. */
export interface EntrySource {
  readonly from: string
  readonly where: string
}

/** SQL that is true if the totals of charges contain the entry `e`. */
export function isSummed(engine: Engine): string {
  return engine === 'postgres'
    ? 'not exists (select from (select unnest(u.ids) as id from {unsummed} u) k where k.id = e.id)'
    : `e.id <= ${SUMMED}`
}

/** SQL that is true if the totals by account contain the entry `e`. */
export function isKeyed(engine: Engine): string {
  return engine === 'postgres'
    ? `${isSummed(engine)} and not coalesce(e.id <@ ${UNKEYED_RANGES}, false)`
    : `e.id <= ${KEYED}`
}

/** A statement that notes that no totals contain the entry `e` of this condition, for the transaction that writes it. */
export function noteUnsummed(
  engine: Engine,
  condition: string,
  parameters: Statement['parameters'],
): readonly Statement[] {
  // SQLite's marks over ids need no notes.
  if (engine === 'sqlite') return []
  return [
    {
      text: `insert into {unsummed} (ids, at) select array[e.id], e.at from {entries} e where ${condition}`,
      ...(parameters !== undefined && { parameters }),
    },
  ]
}
