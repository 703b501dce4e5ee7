/** One event of a streamed reply from an adapter, in OpenAI's shape but not yet normalised. */
export interface ChatChunk {
  choices?: readonly unknown[]
  [field: string]: unknown
}
