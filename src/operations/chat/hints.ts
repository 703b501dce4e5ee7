import { isProviderError } from '../../base/errors.js'
import type { ChatAdapter, ProviderCall } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'

/** Fields that agents send to every model, and that only suggest how it should work. */
const HINTS = new Set<string | undefined>(['reasoning_effort', 'parallel_tool_calls', 'verbosity'])

/**
 * Sends a chat. If the adapter cannot express a hint, sends it again without the hint. An adapter reports that before
 * it has sent anything.
 */
export async function chatWithHints(
  adapter: ChatAdapter,
  call: ProviderCall<ChatRequest>,
  take: Parameters<ChatAdapter['chat']>[1],
): Promise<{ terminated: boolean }> {
  try {
    return await adapter.chat(call, take)
  } catch (failure) {
    const hint =
      isProviderError(failure) && failure.reason === 'unsupported-request' ? failure.param : undefined
    if (!HINTS.has(hint) || call.request[hint!] === undefined) throw failure
    const request = Object.assign({}, call.request, { [hint!]: undefined })
    return chatWithHints(adapter, Object.assign({}, call, { request }), take)
  }
}
