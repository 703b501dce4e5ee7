import type { Row, Statement } from '../sql/database.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import type { ClearedProcess } from '../sql/processes.js'
import { NOW } from './database.js'

const IS_GONE = 'not exists (select 1 from {processes} where id = ?1)'

/**
 * Deletes a process if its beat has not moved, or in any case if no beat is given. Its open holds and leases expire at
 * once. All processes together have few open holds, so this needs no index.
 *
 * @param batch runs statements in one transaction
 */
export async function clearProcess(
  batch: (statements: readonly Statement[]) => Promise<readonly (readonly Row[])[]>,
  id: string,
  beat: bigint | undefined,
): Promise<ClearedProcess | undefined> {
  const [deleted = [], holds = [], leases = []] = await batch([
    {
      text: 'delete from {processes} where id = ?1 and (?2 is null or beat = ?2) returning id',
      parameters: [id, beat ?? null],
    },
    {
      text: `update {holds} indexed by compat_holds_due set expires_at = ${NOW}
        where state = ${HOLD_STATE.open} and expires_at > ${NOW} and process = ?1 and ${IS_GONE} returning id`,
      parameters: [id],
    },
    {
      text: `update {replies} set expires_at = ${NOW}
        where process = ?1 and done = 0 and expires_at > ${NOW} and ${IS_GONE} returning claim`,
      parameters: [id],
    },
  ])
  return deleted.length === 0 ? undefined : { holds: holds.length, leases: leases.length }
}
