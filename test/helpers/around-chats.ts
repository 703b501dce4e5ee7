import type { AdapterRun, ProviderAdapter, ProviderRequest } from 'compat-router/adapters'

export type Run = <Request extends ProviderRequest>(run: AdapterRun<Request>) => AdapterRun<Request>

/** Returns an adapter with something around the methods by which it serves chats. */
export function aroundChats(adapter: ProviderAdapter, around: Run): ProviderAdapter {
  const { chat, converse } = adapter
  return {
    ...adapter,
    ...(chat !== undefined && {
      chat: around<Parameters<typeof chat>[0]['request']>((call, take) => chat(call, take)),
    }),
    ...(converse !== undefined && {
      converse: around<Parameters<typeof converse>[0]['request']>((call, take) => converse(call, take)),
    }),
  }
}
