import { HOLD_STATE } from '../../../src/sql/hold-states.js'
import type { LimitCells } from '../../../src/sql/limit-cells.js'
import type { Change } from './audit.js'
import { markersOf, type Refusal } from './watch-refusals.js'

/** The correct content of a bucket after a change. */
export interface BucketState {
  readonly seq: number
  readonly from: number
  readonly held: bigint
  readonly used: bigint
}

const EMPTY: BucketState = { seq: 0, from: -1, held: 0n, used: 0n }

/**
 * Counts the buckets again from the changes of holds and charges alone, and compares the rows that the ledger wrote with
 * that. The changes of a transaction are in the order of its commands, except that a hold is settled before its charge is
 * written: it is freed with the charge here.
 */
export class Replay {
  /** One sentence for each row that is wrong. */
  readonly problems: string[] = []
  readonly #states = new Map<string, BucketState[]>()
  readonly #rows = new Map<string, Change>()
  /** When each hold was taken or refused. */
  readonly #seqs = new Map<string, number>()
  readonly #parts = new Map<string, LimitCells>()
  readonly #settling = new Set<string>()

  constructor(changes: readonly Change[]) {
    const batches = new Map<string, number>()
    for (const change of changes) {
      const { batch } = change
      for (const bucket of bucketsOf(change)) {
        if ((batches.get(bucket) ?? batch) !== batch) this.#compare(bucket)
        batches.set(bucket, batch)
      }
      this.#apply(change)
    }
    for (const bucket of batches.keys()) this.#compare(bucket)
  }

  statesOf(bucket: string): readonly BucketState[] {
    return this.#states.get(bucket) ?? [EMPTY]
  }

  /** Whether a refused hold would have fitted in every state that its bucket had while the ledger decided on it. */
  isFalse({ amount, bucket, holdId, limit, replaces }: Refusal): boolean {
    const [before, after] = markersOf(holdId)
    const first = this.#seqs.get(before) ?? this.#seqs.get(holdId)
    const last = this.#seqs.get(after) ?? this.#seqs.get(holdId)
    if (first === undefined || last === undefined) throw new Error(`Nothing shows when ${holdId} was refused`)
    const states = this.statesOf(bucket)
    const start = states.findLastIndex(({ seq }) => seq <= first)
    const during = states.slice(start).filter(({ seq }) => seq <= last)
    const old = this.#parts.get(replaces ?? '')?.find(([name]) => name === bucket)
    return during.every(({ from, held, used }) => {
      const own = old !== undefined && old[2] === from ? BigInt(old[3]) : 0n
      return held + used - own + BigInt(amount) <= BigInt(limit)
    })
  }

  #apply(change: Change): void {
    const { id, parts, seq, state, what } = change
    switch (what) {
      case 'bucket':
        this.#rows.set(id, change)
        break
      case 'refusal':
        this.#seqs.set(id, seq)
        break
      case 'hold':
        this.#seqs.set(id, seq)
        this.#parts.set(id, parts)
        for (const [bucket, unit, from, amount] of parts) this.#add(seq, bucket, unit, from, BigInt(amount))
        break
      case 'end':
        if (state === HOLD_STATE.settled) this.#settling.add(id)
        else this.#free(seq, id, change.isReplaced)
        break
      case 'charge':
        if (this.#settling.delete(id)) this.#free(seq, id, false)
        for (const [bucket, unit, from, used] of parts) {
          const present = this.#present(bucket)
          if (unit !== 'requests' && present.from === from) {
            this.#set(bucket, { ...present, seq, used: present.used + BigInt(used) })
          }
        }
    }
  }

  #add(seq: number, bucket: string, unit: string, from: number, amount: bigint): void {
    const present = this.#present(bucket)
    if (present.from > from) return
    const { held, used } = present.from === from ? present : EMPTY
    this.#set(
      bucket,
      unit === 'requests'
        ? { seq, from, held, used: used + amount }
        : { seq, from, held: held + amount, used },
    )
  }

  /** The hold that replaces another one counts the request again. */
  #free(seq: number, holdId: string, isReplaced: boolean): void {
    for (const [bucket, unit, from, amount] of this.#parts.get(holdId) ?? []) {
      const isFreed = unit !== 'requests' || isReplaced
      if (isFreed && this.#present(bucket).from === from) this.#add(seq, bucket, unit, from, -BigInt(amount))
    }
  }

  #present(bucket: string): BucketState {
    return this.statesOf(bucket).at(-1)!
  }

  #set(bucket: string, state: BucketState): void {
    const states = this.#states.get(bucket)
    if (states === undefined) this.#states.set(bucket, [EMPTY, state])
    else states.push(state)
  }

  /** Compares a bucket at the end of a transaction. */
  #compare(bucket: string): void {
    const { from, held, used } = this.#present(bucket)
    const row = this.#rows.get(bucket)
    if (row !== undefined && row.startsAt === BigInt(from) && row.held === held && row.used === used) return
    const written =
      row === undefined ? 'no row' : `${row.held} held and ${row.used} used since ${row.startsAt}`
    this.problems.push(`${bucket} has ${written}, and its calls ${held} held and ${used} used since ${from}`)
  }
}

/**
 * The buckets that the ledger has locked for this change. The end of a hold and its charge change no count of requests, which
 * the hold has counted, so they happen at any time, even between the changes of another transaction.
 */
function bucketsOf({ id, isReplaced, parts, what }: Change): readonly string[] {
  if (what === 'bucket') return [id]
  const isCounted = what === 'hold' || isReplaced
  return parts.filter(([, unit]) => isCounted || unit !== 'requests').map(([bucket]) => bucket)
}
