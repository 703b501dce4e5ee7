import type { ConversationRequest } from '../../../conversation/conversation.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import { RESPONSES_FORMAT, type ResponsesRequest } from '../../../protocol/responses-request.js'
import { type AskedResponse, ENCRYPTED_REASONING, LOGPROBS } from './read-request.js'
import { toFlatChoice } from './read-tools.js'
import type { SealedThoughts } from './sealed-reasoning.js'

const INCLUDED = [ENCRYPTED_REASONING, LOGPROBS]

/** Members of a conversation that have another name or shape here. */
const NOT_HERE = new Set(
  (
    'turns tools tool_choice response_format verbosity reasoning reasoning_effort max_tokens ' +
    'max_completion_tokens logprobs stream'
  ).split(' '),
)

/**
 * Returns the request for a provider that has the Responses API itself, with the client's own items.
 *
 * @param conversation the request for the same route, within its limits
 */
export function toResponsesRequest(
  conversation: ConversationRequest,
  response: AskedResponse,
  provider: string,
): ResponsesRequest {
  const { flatTools, include, items, settings, thoughts } = response
  const { instructions, reasoning, text, toolChoice } = settings
  const request: ResponsesRequest = {
    model: conversation.model,
    input: items.flatMap((item) => toItem(item, provider, thoughts)),
  }
  if (instructions !== undefined) request.instructions = instructions
  for (const [field, value] of Object.entries(conversation)) if (!NOT_HERE.has(field)) request[field] = value
  const maxTokens = conversation.max_completion_tokens ?? conversation.max_tokens
  if (maxTokens !== undefined) request.max_output_tokens = maxTokens
  if (flatTools.length > 0) request.tools = flatTools
  if (toolChoice !== undefined) request.tool_choice = toFlatChoice(toolChoice)
  if (Object.keys(text).length > 0) request.text = text
  if (Object.keys(reasoning).length > 0) request.reasoning = reasoning
  const included = INCLUDED.filter((name) => include.has(name))
  if (included.length > 0) request.include = included
  return request
}

/**
 * Returns an item for a provider. Removes ids, which are this service's own and mean nothing to the provider. Sends
 * reasoning only to the provider that it came from.
 */
function toItem(item: JsonObject, provider: string, thoughts: SealedThoughts): JsonObject[] {
  if (item.type !== 'reasoning') {
    const { id: _, ...sent } = item
    return [sent]
  }
  const opened = thoughts.open(item.encrypted_content)
  if (opened?.provider !== provider) return []
  const details = opened.details.filter(({ data, format }) => format === RESPONSES_FORMAT && isText(data))
  return details.map(({ data, id }, position) => ({
    type: 'reasoning',
    ...(isText(id) && { id }),
    // One item may hold several thoughts. Their summaries cannot be separated.
    summary: position === 0 && Array.isArray(item.summary) ? item.summary.filter(isObject) : [],
    encrypted_content: data,
  }))
}
