/** Phrases of OpenAI, Groq, DeepSeek and Google for too many stop sequences. */
const SAYS_MOST = /\b(?:maximum length|maximum number of items is|at most|less than or equal to) (\d{1,2})\b/
const SAYS_STOP = /\bstop(?:_sequences)?\b/

/** Returns how many stop sequences a provider takes, if it refused a request because of their number. */
export function mostStopsIn(words: string): number | undefined {
  const most = SAYS_STOP.test(words) ? Number(SAYS_MOST.exec(words)?.[1]) : Number.NaN
  return most > 0 ? most : undefined
}
