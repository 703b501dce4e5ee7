import type { Reasoning } from './settings.js'
import { unsupported } from './unsupported.js'

const LOW_BUDGET = 4_096
const MEDIUM_BUDGET = 16_384

/** Returns the effort that is nearest to a budget of tokens for thinking, for APIs that take no budget. */
export function effortOfBudget(tokens: number): string {
  if (tokens <= LOW_BUDGET) return 'low'
  return tokens <= MEDIUM_BUDGET ? 'medium' : 'high'
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/** Returns the effort that a client asks for, undefined if it asks for a budget. Throws for a word that no API has. */
export function effortOf({ effort, param }: Reasoning): Effort | undefined {
  if (effort === undefined) return undefined
  const known = EFFORTS.find((word) => word === effort)
  if (known === undefined) throw unsupported(param, `${param} must be one of ${EFFORTS.join(', ')}.`)
  return known
}
