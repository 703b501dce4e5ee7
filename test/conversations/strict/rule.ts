import type { StrictRow } from './refusal.js'
import type { Json } from './shape.js'

/** What an API says against a request. */
export interface Objection {
  readonly message: string
  readonly param?: string
  readonly code?: string
  readonly type?: string
  readonly status?: number
  /** What some say instead of a message. */
  readonly detail?: unknown
}

/** One thing that an API refuses, beyond the shape of its requests. */
export interface Rule {
  readonly id: string
  /** Who saw it, or where the vendor says so. */
  readonly source: string
  /** The rows that refuse it. */
  readonly rows: readonly StrictRow[]
  readonly objection: (body: Json, row: StrictRow) => Objection | undefined
  /** A request that is refused, and the nearest one that is not. */
  readonly refuses: Json
  readonly accepts: Json
}

/** `A`, `A and B`, `A, B, and C`. */
export const listed = (words: readonly string[], last: string): string =>
  words.length < 3 ? words.join(` ${last} `) : `${words.slice(0, -1).join(', ')}, ${last} ${words.at(-1)}`

/** The words of a text. */
export const wordsIn = (text: string): readonly string[] => text.trim().split(/\s+/)
