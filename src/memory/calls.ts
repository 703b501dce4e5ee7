import { z } from 'zod'
import { readLimit } from '../base/page-limit.js'
import type { CallPage, CallQuery, CallStore, KeptCall } from '../contracts/index.js'
import { matchesCall, ownerOfCall } from '../rules/kept-calls.js'
import { optionsSchema, readOptions } from '../rules/read-options.js'

export interface MemoryCallsOptions {
  /** The maximum number of calls. Beyond it, the oldest is dropped. 1,000 by default. */
  readonly max?: number
}

const DEFAULT_MAX = 1_000
const callsSchema = optionsSchema<MemoryCallsOptions>({ max: z.int().min(1).optional() })
const POSITION_PATTERN = /^\d{1,15}$/

/**
 * The latest calls, in memory.
 *
 * @example
 * ```ts
 * const router = createCompatRouter({ ...options, calls: memoryCalls({ max: 10_000 }) })
 * ```
 */
export function memoryCalls(options: MemoryCallsOptions = {}): CallStore {
  const { max = DEFAULT_MAX } = readOptions(callsSchema, options, 'memoryCalls')
  /** The call at each position modulo `max`. */
  const calls: KeptCall[] = []
  /** The position of the next call. */
  let end = 0

  function newest(after: string | undefined): number {
    if (after === undefined) return end - 1
    if (!POSITION_PATTERN.test(after)) throw new TypeError('after must be the next of an earlier page')
    return Math.min(Number(after), end) - 1
  }

  function read(query: CallQuery): CallPage {
    const limit = readLimit(query.limit)
    const found: KeptCall[] = []
    const start = Math.max(0, end - max)
    for (let position = newest(query.after); position >= start; position--) {
      const call = calls[position % max]!
      if (!matchesCall(call, query)) continue
      if (found.length === limit) return { calls: found, next: String(position + 1) }
      found.push(call)
    }
    return { calls: found }
  }

  return {
    record(call) {
      calls[end % max] = call
      end++
    },
    async find(account, id) {
      // An index would cost every call, and a look-up by the request's id reads the list anyway.
      const known = calls.find((call) => call.id === id)
      if (known !== undefined && (account === undefined || ownerOfCall(known)?.account === account)) {
        return known
      }
      return read({ ...(account !== undefined && { account }), requestId: id, limit: 1 }).calls[0]
    },
    list: async (query = {}) => read(query),
  }
}
