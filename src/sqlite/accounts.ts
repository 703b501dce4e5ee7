import { checkAmount } from '../sql/bounds.js'
import type { Connection } from './connection.js'

/** The balances that one transaction touches. */
export interface Accounts {
  /** An account that does not exist has 0 and 0. */
  read(id: string): { readonly posted: bigint; readonly held: bigint }
  /** Throws a `RangeError`, and changes nothing, where a balance would leave 64 bits. */
  change(id: string, posted: bigint, held: bigint): void
  /** Writes back what changed. */
  write(): void
}

interface Account {
  posted: bigint
  held: bigint
  isNew: boolean
  isChanged: boolean
}

export function createAccounts(connection: Connection, now: bigint): Accounts {
  const accounts = new Map<string, Account>()
  const select = connection.prepare('select posted, held from {accounts} where id = ?1')

  function load(id: string): Account {
    const known = accounts.get(id)
    if (known !== undefined) return known
    const cells = select.first([id])
    const account: Account = {
      posted: (cells?.[0] ?? 0n) as bigint,
      held: (cells?.[1] ?? 0n) as bigint,
      isNew: cells === undefined,
      isChanged: false,
    }
    accounts.set(id, account)
    return account
  }

  return {
    read: load,
    change(id, posted, held) {
      const account = load(id)
      const nextPosted = checkAmount(account.posted + posted, `The balance of ${id}`)
      const nextHeld = checkAmount(account.held + held, `What ${id} has on hold`)
      account.posted = nextPosted
      account.held = nextHeld
      account.isChanged = true
    },
    write() {
      const update = connection.prepare('update {accounts} set posted = ?1, held = ?2 where id = ?3')
      const insert = connection.prepare(
        'insert into {accounts} (id, posted, held, created_at) values (?1, ?2, ?3, ?4)',
      )
      for (const [id, account] of accounts) {
        if (!account.isChanged) continue
        if (account.isNew) insert.run([id, account.posted, account.held, now])
        else update.run([account.posted, account.held, id])
      }
    },
  }
}
