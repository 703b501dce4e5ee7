import { isCount } from '../protocol/usage.js'

interface Sums {
  readonly prompt: unknown
  readonly completion: unknown
  readonly reasoning: unknown
  readonly total: unknown
}

/**
 * A call has a prompt, so a prompt of 0 is treated as missing if the total shows that. The same holds for an output of
 * 0. Reasoning that is not part of the output explains the total first.
 */
export function withMissing<Counts extends Sums>(counts: Counts): Counts {
  const { completion, prompt, reasoning, total } = counts
  if (!isCount(total) || !isCount(prompt) || !isCount(completion) || total <= prompt + completion)
    return counts
  if (prompt === 0) {
    const isApart = isCount(reasoning) && (reasoning > completion || total === completion + reasoning)
    return { ...counts, prompt: Math.max(total - completion - (isApart ? reasoning : 0), 0) }
  }
  return completion === 0 ? { ...counts, completion: total - prompt } : counts
}
