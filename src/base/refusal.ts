import { type InputPlace, problemAt } from './invalid-input.js'

/**
 * An administrative request that cannot be carried out now: something that it refers to does not exist or conflicts with
 * it. Distinguished from a fault by `name`, because each entry of the package contains a copy of this class.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** The path of the member that conflicts, in what was given. */
  readonly field: string | undefined

  constructor(
    readonly reason: 'not-found' | 'conflict',
    /** A sentence, or words that follow the name of the field. */
    readonly problem: string,
    place: InputPlace = {},
  ) {
    super(problemAt(place, problem))
    this.field = place.field
  }
}

/** Whether a value is a {@link Refusal}, even from another copy of this module. */
export function isRefusal(value: unknown): value is Refusal {
  return value instanceof Error && value.name === 'Refusal'
}
