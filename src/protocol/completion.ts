/** A reply in one body, as an adapter hands it over: shaped like OpenAI's, not yet normalised. */
export interface ChatCompletion {
  choices: readonly unknown[]
  [field: string]: unknown
}
