import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/providers.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import type { UsageReport } from '../../protocol/usage.js'
import { parseProviderObject } from '../provider-json.js'
import type { ReplyFormat } from '../reply-reader.js'
import { frameError } from '../upstream-errors.js'
import { readUsage } from './usage.js'

export const embeddingsFormat: ReplyFormat = {
  fastPaths: false,
  onBody: readEmbeddings,
  onEvent: () => {
    throw new ProviderError('invalid-response', 'The provider streamed its embeddings.')
  },
}

function readEmbeddings(json: Buffer, events: ProviderEvent[]): void {
  const reply = parseProviderObject(json.toString())
  const { data, id } = reply
  if (!Array.isArray(data)) {
    if (reply.error !== undefined && reply.error !== null) throw frameError(reply)
    throw new ProviderError('invalid-response', 'The reply has no list of embeddings.')
  }
  events.push({ type: 'completion', completion: { data, id } })
  const usage = usageOf(reply)
  if (usage !== undefined) events.push({ type: 'usage', usage })
}

/** Some providers report only a total, which is then the input. */
function usageOf({ usage }: JsonObject): UsageReport | undefined {
  if (!isObject(usage)) return undefined
  const { prompt_tokens: prompt, total_tokens: total } = usage
  const isTotalAlone = (prompt ?? usage.input_tokens ?? undefined) === undefined && total !== undefined
  return readUsage(isTotalAlone ? { ...usage, prompt_tokens: total } : usage, undefined)
}
