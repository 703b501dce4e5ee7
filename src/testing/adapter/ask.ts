import type { ProviderAdapter, ProviderCall, TakeEvents } from '../../contracts/index.js'
import { readChat } from '../../conversation/read-chat.js'
import { settled } from '../../conversation/turns.js'

/** Sends a chat by the method with which an adapter serves chats, as the router does. */
export async function ask(
  adapter: ProviderAdapter,
  call: ProviderCall,
  take: TakeEvents,
): Promise<{ terminated: boolean }> {
  if (adapter.chat !== undefined) return adapter.chat(call, take)
  if (adapter.converse === undefined) throw new TypeError('The adapter has neither chat nor converse.')
  return adapter.converse({ ...call, request: settled(readChat(call.request, adapter.parameters)) }, take)
}
