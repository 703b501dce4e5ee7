/** A request of the Responses API as a provider gets it: without the router's own fields. */
export interface ResponsesRequest {
  model: string
  input: readonly Readonly<Record<string, unknown>>[]
  [field: string]: unknown
}

/** The format of `reasoning_details` from providers of the Responses API. */
export const RESPONSES_FORMAT = 'openai-responses-v1'
