/** An error that a person can correct, or at least should see. `field` names a field of the form or filter. */
export class Problem extends Error {
  readonly status: number
  readonly field: string | undefined

  constructor(message: string, { status = 0, field }: { status?: number; field?: string | undefined } = {}) {
    super(message)
    this.status = status
    this.field = field
  }
}

/** Converts a caught value of any kind into something to show. */
export function asProblem(caught: unknown): Problem {
  if (caught instanceof Problem) return caught
  return new Problem(caught instanceof Error ? caught.message : String(caught))
}
