/** A JSON reply from an adapter, in OpenAI's shape but not yet normalised. */
export interface ChatCompletion {
  choices: readonly unknown[]
  [field: string]: unknown
}
