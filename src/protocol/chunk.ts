/** One event of a streamed reply, as an adapter hands it over: shaped like OpenAI's, not yet normalised. */
export interface ChatChunk {
  choices?: readonly unknown[]
  [field: string]: unknown
}
