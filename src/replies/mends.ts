import type { Mended } from '../contracts/operation.js'

/** The ways in which odd elements of a good reply are repaired. */
export type MendKind =
  /** An empty element was skipped: a frame, or an entry of a list. */
  | 'frame-skipped'
  | 'choice-skipped'
  | 'tool-call-skipped'
  | 'part-skipped'
  /** A number or a boolean was converted to text. */
  | 'text-coerced'
  /** Choices were combined to the number that was requested, by their order. */
  | 'choices-joined'
  | 'choice-renumbered'
  | 'tool-call-renumbered'
  /** Output in another shape was moved to where clients read it. */
  | 'tool-call-mapped'
  | 'content-mapped'
  | 'reasoning-mapped'
  | 'annotation-completed'
  /** The pieces of a tool call were put in order. */
  | 'tool-name-joined'
  | 'arguments-repeated'
  | 'arguments-split'
  | 'arguments-decoded'
  | 'arguments-cut'
  /** A member that a reply cannot contain was omitted. */
  | 'member-dropped'

/** Collects the repairs of one reply. Remembers each kind once, however often it occurs. */
export class MendBook {
  /** The number of repairs. */
  count = 0
  /** Undefined while there are none, as in most replies. */
  kinds: Map<string, Mended> | undefined

  /** @param dropped the name of an omitted element, if any. It must not quote the reply */
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

  /** Whether a name was already counted as omitted. */
  hasDropped(kind: string, name: string): boolean {
    const names = this.kinds?.get(kind)?.dropped
    return names !== undefined && (names.has(name) || names.size >= MAX_NAMES)
  }
}

const MAX_NAMES = 20
