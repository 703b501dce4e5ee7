import type { KeptCall } from '../contracts/index.js'
import { CALL_COLUMNS, readCall } from './call-rows.js'
import type { Cell, Parameter } from './database.js'

const NAMES = Object.keys(CALL_COLUMNS) as readonly (keyof typeof CALL_COLUMNS)[]

/**
 * Calls that wait to be written, oldest first, as lists of cells for the database. A call waits longer than most
 * objects live, and texts and numbers in a few lists are cheapest for the garbage collector.
 */
export class WaitingCalls {
  private constructor(
    /** The cells of all calls, grouped by {@link CALL_COLUMNS} in the same order. */
    readonly columns: readonly Parameter[][],
    private readonly recordedAt: number[],
  ) {}

  static none(): WaitingCalls {
    return new WaitingCalls(
      NAMES.map(() => []),
      [],
    )
  }

  get size(): number {
    return this.recordedAt.length
  }

  /** @param cells from `toCallCells` */
  add(cells: readonly Parameter[], now: number): void {
    for (let index = 0; index < cells.length; index++) this.columns[index]!.push(cells[index]!)
    this.recordedAt.push(now)
  }

  slice(start: number, end?: number): WaitingCalls {
    return new WaitingCalls(
      this.columns.map((cells) => cells.slice(start, end)),
      this.recordedAt.slice(start, end),
    )
  }

  removeFirst(count: number): void {
    for (const cells of this.columns) cells.splice(0, count)
    this.recordedAt.splice(0, count)
  }

  /** Returns the number of calls recorded before a time. */
  countBefore(time: number): number {
    const count = this.recordedAt.findIndex((recordedAt) => recordedAt >= time)
    return count === -1 ? this.size : count
  }

  cellsOf(name: keyof typeof CALL_COLUMNS): readonly Parameter[] {
    return this.columns[NAMES.indexOf(name)]!
  }

  /**
   * Returns the call with this id. If there is none, returns the newest one with this request id. With an account,
   * finds only that account's calls.
   */
  find(account: string | undefined, id: string): KeptCall | undefined {
    const [ids, requestIds] = [this.cellsOf('id'), this.cellsOf('request_id')]
    const [accounts, times] = [this.cellsOf('account'), this.cellsOf('at')]
    let newest: number | undefined
    for (let row = 0; row < ids.length; row++) {
      if (account !== undefined && accounts[row] !== account) continue
      if (ids[row] === id) return this.read(row)
      if (requestIds[row] === id && !(newest !== undefined && times[newest]! > times[row]!)) newest = row
    }
    return newest === undefined ? undefined : this.read(newest)
  }

  private read(row: number): KeptCall {
    return readCall(Object.fromEntries(NAMES.map((name) => [name, toCell(this.cellsOf(name)[row]!)])))
  }
}

function toCell(parameter: Parameter): Cell {
  return typeof parameter === 'number' ? BigInt(parameter) : parameter
}
