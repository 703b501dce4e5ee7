import { isObject } from '../../protocol/json-values.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'
import { unreadCounts } from '../unread-counts.js'

/** Reads the usage of one reply. Its snapshots repeat only some of the counts. */
export interface UsageReader {
  /**
   * Reads a snapshot; returns `undefined` if it is not an object. Input counts include those of earlier snapshots.
   * Output counts come from this snapshot alone: a count from the start does not cover the whole reply.
   */
  read(usage: unknown): UsageReport | undefined
}

/** The API's input count excludes tokens read from or written to the cache. The prompt count here includes them. */
export function createUsageReader(): UsageReader {
  const known = new Map<string, unknown>()
  const note = (field: string, value: unknown) => {
    if (value !== undefined && value !== null) known.set(field, value)
  }
  return {
    read(usage) {
      if (!isObject(usage)) return undefined
      for (const field of INPUT_COUNTS) note(field, usage[field])
      const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
      const input = known.get('input_tokens')
      const cached = known.get('cache_read_input_tokens')
      const cacheWrite = known.get('cache_creation_input_tokens')
      const unread = unreadCounts([usage], READ)
      return {
        prompt: isCount(input) ? input + countOf(cached) + countOf(cacheWrite) : input,
        cached,
        cacheWrite,
        completion: usage.output_tokens ?? undefined,
        reasoning: details.thinking_tokens ?? undefined,
        ...(unread !== undefined && { unread }),
      }
    },
  }
}

const INPUT_COUNTS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']

const READ = new Set(INPUT_COUNTS)

const countOf = (value: unknown) => (isCount(value) ? value : 0)
