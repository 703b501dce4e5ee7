import type { Mended } from '../contracts/operation.js'

/** The ways in which odd elements of a good reply are mended. */
export type MendKind =
  /** An element that says nothing was skipped: a frame, an entry of a list. */
  | 'frame-skipped'
  | 'choice-skipped'
  | 'tool-call-skipped'
  | 'part-skipped'
  /** A number or a boolean was read as the text that it is written as. */
  | 'text-coerced'
  /** Choices were brought to the number that was asked for, by their order. */
  | 'choices-joined'
  | 'choice-renumbered'
  | 'tool-call-renumbered'
  /** Output in another shape was put where clients read it. */
  | 'tool-call-mapped'
  | 'content-mapped'
  | 'reasoning-mapped'
  | 'annotation-completed'
  /** Pieces of a tool call were put in order. */
  | 'tool-name-joined'
  | 'arguments-repeated'
  | 'arguments-split'
  | 'arguments-decoded'
  | 'arguments-cut'
  /** A member without a place in a reply was left out. */
  | 'member-dropped'

/** Collects the mends of one reply. It remembers a kind once, however often it occurs. */
export class MendBook {
  /** How many there were. */
  count = 0
  /** Undefined while there are none, as in most replies. */
  kinds: Map<string, Mended> | undefined

  /** @param dropped the name of what was left out, if anything was. It must not quote the reply */
  add(kind: string, dropped?: string): void {
    this.count++
    this.kinds ??= new Map()
    let mended = this.kinds.get(kind)
    if (mended === undefined) {
      mended = { times: 0, dropped: new Set() }
      this.kinds.set(kind, mended)
    }
    mended.times++
    if (dropped !== undefined && mended.dropped.size < MAX_NAMES) mended.dropped.add(dropped)
  }

  /** Whether a name was counted as left out already. */
  hasDropped(kind: string, name: string): boolean {
    const names = this.kinds?.get(kind)?.dropped
    return names !== undefined && (names.has(name) || names.size >= MAX_NAMES)
  }
}

const MAX_NAMES = 20
