const LOW_BUDGET = 4_096
const MEDIUM_BUDGET = 16_384

/** Returns the effort that is nearest to a budget of tokens for thinking, for APIs that take no budget. */
export function effortOfBudget(tokens: number): string {
  if (tokens <= LOW_BUDGET) return 'low'
  return tokens <= MEDIUM_BUDGET ? 'medium' : 'high'
}
