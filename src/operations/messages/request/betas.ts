import type { IncomingCall } from '../../../contracts/reply.js'

/**
 * The beta features that a caller may use. Each only changes the shape of a request or a reply, or shortens the input.
 * Others are not sent: they cost more than the price of a model, reach files, tools or servers of the host's account,
 * or are unknown. A host can set `anthropic-beta` in the headers of its adapter.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  'adaptive-thinking-2026-01-28',
  'claude-code-20250219',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'max-tokens-3-5-sonnet-2024-07-15',
  'mid-conversation-system-2026-04-07',
  'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19',
  'pdfs-2024-09-25',
  'prompt-caching-2024-07-31',
  'redact-thinking-2026-02-12',
  'structured-outputs-2025-11-13',
  'thinking-display-updates-2026-08-18',
  'thinking-token-count-2026-05-13',
  'token-counting-2024-11-01',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
])

/** Returns the allowed names in the `anthropic-beta` header, each once. */
export function readBetas(headers: IncomingCall['headers']): readonly string[] {
  const lines = headers['anthropic-beta']
  if (lines === undefined) return []
  const names = (typeof lines === 'string' ? [lines] : lines).flatMap((line) => line.split(','))
  return [...new Set(names.map((name) => name.trim()).filter((name) => ALLOWED.has(name)))]
}
