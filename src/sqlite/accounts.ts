import { checkSum } from '../sql/bounds.js'
import type { Connection } from './connection.js'

/** The balances that one transaction reads and changes. */
export interface Accounts {
  /** Reads many accounts in one statement. A few are read on demand instead. */
  load(ids: readonly string[]): void
  /** Returns zeros if the account does not exist. */
  read(id: string): { readonly posted: bigint; readonly held: bigint }
  /** Throws a `RangeError`, and changes nothing, if a balance would exceed 64 bits. */
  change(id: string, posted: bigint, held: bigint): void
  /** Writes the changed balances. */
  write(): void
}

interface Account {
  posted: bigint
  held: bigint
  isNew: boolean
  isChanged: boolean
}

/** Up to this many rows, one statement per row is faster than one that reads its rows from JSON. */
export const FEW_ROWS = 8

export function createAccounts(connection: Connection, now: bigint): Accounts {
  const accounts = new Map<string, Account>()
  const select = connection.prepare('select posted, held from {accounts} where id = ?1')

  function loadOne(id: string): void {
    const cells = select.first([id])
    accounts.set(id, {
      posted: (cells?.[0] ?? 0n) as bigint,
      held: (cells?.[1] ?? 0n) as bigint,
      isNew: cells === undefined,
      isChanged: false,
    })
  }

  function loadMany(ids: ReadonlySet<string>): void {
    const rows = connection
      .prepare('select id, posted, held from {accounts} where id in (select value from json_each(?1))')
      .rows([JSON.stringify([...ids])])
    for (const row of rows) {
      const { id, posted, held } = row as { id: string; posted: bigint; held: bigint }
      accounts.set(id, { posted, held, isNew: false, isChanged: false })
    }
    for (const id of ids) {
      if (!accounts.has(id)) accounts.set(id, { posted: 0n, held: 0n, isNew: true, isChanged: false })
    }
  }

  function read(id: string): Account {
    if (!accounts.has(id)) loadOne(id)
    return accounts.get(id)!
  }

  return {
    load(ids) {
      const each = new Set(ids)
      if (each.size > FEW_ROWS) loadMany(each)
    },
    read,
    change(id, posted, held) {
      const account = read(id)
      const nextPosted = checkSum(account.posted + posted, `The balance of ${id}`)
      const nextHeld = checkSum(account.held + held, `The amount on hold for ${id}`)
      account.posted = nextPosted
      account.held = nextHeld
      account.isChanged = true
    },
    write() {
      const insert = connection.prepare(
        'insert into {accounts} (id, posted, held, created_at) values (?1, ?2, ?3, ?4)',
      )
      const changed: [id: string, account: Account][] = []
      for (const [id, account] of accounts) {
        if (account.isChanged && account.isNew) insert.run([id, account.posted, account.held, now])
        else if (account.isChanged) changed.push([id, account])
      }
      if (changed.length > FEW_ROWS) {
        const balances = changed.map(([id, { posted, held }]) => `[${JSON.stringify(id)},${posted},${held}]`)
        connection
          .prepare(
            `update {accounts} set posted = b.value ->> 1, held = b.value ->> 2 from json_each(?1) b
             where {accounts}.id = b.value ->> 0`,
          )
          .run([`[${balances.join(',')}]`])
      } else {
        const update = connection.prepare('update {accounts} set posted = ?1, held = ?2 where id = ?3')
        for (const [id, { posted, held }] of changed) update.run([posted, held, id])
      }
    },
  }
}
