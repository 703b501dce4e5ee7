import { present } from '../base/present.js'
import type { Connection, Connections } from '../contracts/index.js'
import { readJson, readNumber, readOptionalNumber, readText } from './cells.js'
import { APP, appendHistory } from './connect-history.js'
import type { Row, SqlDatabase } from './database.js'

export function createSqlConnections(database: SqlDatabase, newId: () => string): Connections {
  /** SQL that is true if the connected app `c` can be used now. */
  const isUsable = `c.source = 'connect' and c.revoked_at is null
    and (c.ends_at is null or c.ends_at > ${database.now})
    and exists (select 1 from {apps} p where p.id = c.app_id and p.suspended_at is null)
    and not exists (select 1 from {accounts} a where a.id = c.account and a.suspended_at is not null)`

  async function find(id: string): Promise<Connection | undefined> {
    const [row] = await database.all({
      text: `select n.id, n.created_at, c.account, c.app_id, c.scopes, c.ends_at from {connections} n
        join {credentials} c on c.id = n.credential_id where n.id = ?1 and n.ended_at is null and ${isUsable}`,
      parameters: [id],
    })
    return row === undefined ? undefined : readAccess(row)
  }

  return {
    findConnection: find,

    async addConnection({ id, account, appId, label }) {
      if ((await find(id)) !== undefined) return true
      const added = await database.all({
        text: `insert into {connections} (id, credential_id, label, created_at)
          select ?1, c.id, ?4, ${database.now} from {credentials} c
          where c.account = ?2 and c.app_id = ?3 and ${isUsable}
          on conflict (id) do nothing returning id`,
        parameters: [id, account, appId, label ?? null],
      })
      return added.length > 0
    },

    async endConnection(id, reason, by = APP) {
      const live = {
        text: 'select credential_id as id from {connections} where id = ?1 and ended_at is null',
        parameters: [id],
      }
      const [, , ended] = await database.batch([
        // Locks the row, so that the second of two concurrent ends sees the first.
        { text: 'update {connections} set id = id where id = ?1', parameters: [id] },
        appendHistory(
          database,
          { id: newId(), kind: 'device-removed', by, terms: { connectionId: id, reason } },
          live,
        ),
        {
          text: `update {connections} set ended_at = ${database.now}, reason = ?2
            where id = ?1 and ended_at is null returning credential_id`,
          parameters: [id, reason],
        },
        database.changeEach('credentials', {
          text: 'select credential_id as id from {connections} where id = ?1',
          parameters: [id],
        }),
      ])
      return ended!.length > 0
    },
  }
}

/** Reads the columns that a connection has in common with the connected app that it belongs to. */
export function readAccess(row: Row): Connection {
  return {
    id: readText(row, 'id'),
    account: readText(row, 'account'),
    appId: readText(row, 'app_id'),
    scopes: readJson<string[]>(row, 'scopes'),
    createdAt: readNumber(row, 'created_at'),
    ...present({ endsAt: readOptionalNumber(row, 'ends_at') }),
  }
}
