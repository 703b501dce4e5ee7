import { isProviderError } from '../../base/errors.js'
import type { Mutable } from '../../base/mutable.js'
import type { ProviderCall, TakeEvents } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import type { AdapterWith } from '../../rules/adapter-methods.js'

/** Fields that agents send to every model, and that only suggest how it should work. */
const HINTS = new Set<string | undefined>(['reasoning_effort', 'parallel_tool_calls', 'verbosity'])

/**
 * Sends a chat. If the adapter cannot express a hint, sends it again without the hint. An adapter reports that before
 * it has sent anything.
 */
export async function chatWithHints(
  adapter: AdapterWith<'chat'>,
  call: Mutable<ProviderCall<ChatRequest>>,
  take: TakeEvents,
): Promise<{ terminated: boolean }> {
  try {
    return await adapter.chat(call, take)
  } catch (failure) {
    const hint =
      isProviderError(failure) && failure.reason === 'unsupported-request' ? failure.param : undefined
    if (!HINTS.has(hint) || call.request[hint!] === undefined) throw failure
    call.request = Object.assign({}, call.request, { [hint!]: undefined })
    return chatWithHints(adapter, call, take)
  }
}
