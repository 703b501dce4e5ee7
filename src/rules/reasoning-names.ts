import type { ReasoningName } from '../contracts/reasoning-name.js'

const NAMES: ReadonlySet<unknown> = new Set<ReasoningName>(['reasoning_content', 'reasoning', 'both'])

export const REASONING_NAMES = [...NAMES].map((name) => `'${name}'`).join(', ')

export function isReasoningName(value: unknown): value is ReasoningName {
  return NAMES.has(value)
}
