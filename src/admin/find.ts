import { z } from 'zod'
import { present } from '../base/present.js'
import { nameSchema, parseField, parseInput, whose } from '../rules/schemas.js'
import { readOptionalText, readText } from '../sql/cells.js'
import type { Parameter, SqlDatabase } from '../sql/database.js'
import { toEntryIdCell } from '../sql/entry-ids.js'
import { appNameKey } from './app-names.js'
import type { CredentialRow } from './credential-rows.js'

export interface FindOptions {
  /** Finds only what belongs to this account: itself, its credentials, its apps, and its calls, holds and entries. */
  readonly account?: string
}

/** Something that has the text as its id, or whose name begins with it. */
export interface Found {
  /**
   * - `credential` is a key, an access token, a session or a connected app.
   * - `call` is a kept call, found by its own id or that of its request.
   * - `entry` is found by its id, or by the reference of a payment or a refund.
   * - `session` is a conversation of calls.
   */
  readonly kind: 'account' | 'credential' | 'app' | 'call' | 'hold' | 'entry' | 'session'
  readonly id: string
  /** The account that it belongs to. Absent for an app of the operator, and for a call that was refused before its account was known. */
  readonly account?: string
  /** The name of an app, or the label of a credential. */
  readonly name?: string
  /** Of a credential: `connect` for a connected app, `session` for a session of a page. Absent if it was issued. */
  readonly source?: CredentialRow['source']
  /** The entry that settled a hold. Absent while it is open, and if it was released or expired. */
  readonly entryId?: string
}

const findSchema = z.strictObject({ account: whose(nameSchema) })

const MOST = 20
/** The last character. Both engines compare these columns byte by byte. */
const LAST = '\u{10FFFF}'

/** One look-up: each is an index's range or row, whatever the size of its table. */
interface LookUp {
  readonly kind: Found['kind']
  readonly from: string
  readonly id: string
  /** SQL for the account that may see it. */
  readonly account: string
  readonly name?: string
  /** SQL for a credential's source. */
  readonly source?: string
  /** SQL for the entry that settled a hold. */
  readonly entryId?: string
  readonly where: string
}

/** The look-ups. `?1` is the text; `?2` and `?3` are the bounds of its lower case, `?4` and `?5` those of an app's name. */
function lookUps({ engine }: SqlDatabase): readonly LookUp[] {
  const nameOfApp =
    engine === 'postgres' ? "cast(p.definition as json) ->> 'name'" : "p.definition ->> '$.name'"
  const app = { kind: 'app', from: '{apps} p', id: 'p.id', account: 'p.owner', name: nameOfApp } as const
  const credential = {
    kind: 'credential',
    from: '{credentials} c',
    id: 'c.id',
    account: 'c.account',
    name: 'c.label',
    source: "nullif(c.source, 'operator')",
  } as const
  const call = { kind: 'call', from: '{calls} c', id: 'c.id', account: 'c.account' } as const
  const entry = {
    kind: 'entry',
    from: '{entries} e',
    id: 'cast(e.id as text)',
    account: 'e.account',
  } as const
  return [
    {
      ...{ kind: 'account', from: '{accounts} a', id: 'a.id', account: 'a.id' },
      where: 'lower(a.id) >= ?2 and lower(a.id) < ?3',
    },
    { ...credential, where: 'c.id = ?1' },
    {
      ...credential,
      where: 'c.label is not null and lower(c.label) >= ?2 and lower(c.label) < ?3 and c.id <> ?1',
    },
    { ...app, where: 'p.id = ?1' },
    { ...app, where: 'p.name_key is not null and p.name_key >= ?4 and p.name_key < ?5 and p.id <> ?1' },
    { ...call, where: 'c.id = ?1' },
    { ...call, where: 'c.request_id = ?1 and c.id <> ?1' },
    {
      ...{ kind: 'hold', from: '{holds} h', id: 'h.id', account: 'h.account', entryId: 'h.entry_id' },
      where: 'h.id = ?1',
    },
    { ...entry, where: 'e.id = cast(?6 as bigint)' },
    { ...entry, where: 'e.reference = ?1' },
    {
      ...{ kind: 'session', from: '{entries} e', id: 'e.session_id', account: 'e.account' },
      where: 'e.session_id = ?1',
    },
  ]
}

/** Finds things by their ids, and accounts, credentials and apps by the beginnings of their names. At most 20. */
export async function findAnything(
  database: SqlDatabase,
  given: string,
  options: FindOptions = {},
): Promise<readonly Found[]> {
  const text = parseField(nameSchema, given, 'text')
  const { account } = parseInput(findSchema, options, 'find')
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  // Of a text without a letter or a digit, the key is empty, as if every name began with it.
  const key = appNameKey(text) || LAST
  const parameters: Parameter[] = [text, lower, lower + LAST, key, key + LAST, toEntryIdCell(text)]
  if (account !== undefined) parameters.push(account)
  const own = (column: string) => (account === undefined ? '' : `and ${column} = ?${parameters.length}`)
  const parts = lookUps(database).map(({ kind, from, id, account: owner, where, ...more }) => {
    // The sessions' entries are many, and one of each account says enough.
    const one = `${kind === 'session' ? 'distinct' : ''} '${kind}' as kind, ${id} as id, ${owner} as account`
    const { name = 'null', source = 'null', entryId: settledBy = 'null' } = more
    const texts = `cast(${name} as text) as name, cast(${source} as text) as source, cast(${settledBy} as text) as entry_id`
    return `select * from (select ${one}, ${texts} from ${from}
        where ${where} ${own(owner)} ${kind === 'session' ? '' : `order by 2 limit ${MOST}`}) ${kind}s`
  })
  const rows = await database.all({
    text: `select * from (${parts.join(' union all ')}) found
      order by case when id = ?1 then 0 else 1 end, kind, id limit ${MOST}`,
    parameters,
  })
  return rows.map((row) => ({
    kind: readText(row, 'kind') as Found['kind'],
    id: readText(row, 'id'),
    ...present({
      account: readOptionalText(row, 'account'),
      name: readOptionalText(row, 'name'),
      source: readOptionalText(row, 'source') as Found['source'],
      entryId: readOptionalText(row, 'entry_id'),
    }),
  }))
}
