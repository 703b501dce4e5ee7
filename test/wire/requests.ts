import { ask, type WireService } from './service.js'

/** The `ChatClient` options for a completion request. */
export function chat(service: WireService, token: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    url: `${service.host.baseUrl}/chat/completions`,
    body: ask(more),
    headers: { authorization: `Bearer ${token}` },
  }
}

/** The head of a completion request whose body follows later. */
export function headOf(token: string, bytes: number): string {
  return (
    `POST /compat/v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n` +
    `content-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`
  )
}
