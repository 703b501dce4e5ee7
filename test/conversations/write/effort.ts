import type { Settings } from '../shape.js'

/** The effort that a client of an API without budgets sends. */
export function effortOf(thinking: NonNullable<Settings['thinking']>): string {
  if (thinking === 'off') return 'none'
  if (typeof thinking === 'string') return thinking
  return thinking <= 4_096 ? 'low' : thinking <= 16_384 ? 'medium' : 'high'
}
