import { setImmediate as nextTurn } from 'node:timers/promises'
import { eventTooLong, replyTooLong } from '../../base/errors.js'
import type { ProviderCall, ProviderEvent } from '../../contracts/index.js'
import { addOrPassOver, unreadable } from '../unreadable.js'
import { abortedError } from './abort.js'
import { toProviderError, toUnreadable } from './errors.js'
import { lengthOf } from './length.js'
import type { ReadableStreamOf } from './specification.js'
import { createPartReader } from './stream.js'
import type { UsageSource } from './usage.js'
import type { AskedFields } from './warnings.js'

/** After this many parts, other work gets a turn. Otherwise a model that never waits would block deadlines. */
const PARTS_A_TURN = 256

export interface Reading {
  readonly source: UsageSource
  readonly asked: AskedFields
  readonly call: Pick<ProviderCall, 'sizes' | 'signal'>
  readonly take: (events: readonly ProviderEvent[]) => void | Promise<void>
}

/**
 * Reads a stream of parts to its end, as `ProviderAdapter.chat` promises. Errors that `take` throws are passed on
 * unchanged.
 */
export function readParts(
  stream: ReadableStreamOf<unknown>,
  { source, asked, call, take }: Reading,
): Promise<{ terminated: boolean }> {
  const { signal, sizes } = call
  const parts = createPartReader(source, asked)
  const reader = stream.getReader()
  let length = 0
  let count = 0

  const check = (part: unknown): void => {
    const partLength = lengthOf(part, sizes.eventBytes)
    length += partLength
    if (partLength > sizes.eventBytes) throw eventTooLong(sizes.eventBytes)
    if (length > sizes.replyBytes) throw replyTooLong(sizes.replyBytes)
  }
  const next = async () => {
    try {
      return await reader.read()
    } catch (error) {
      const piece = toUnreadable(error)
      if (piece !== undefined) await take([unreadable(piece.message)])
      throw toProviderError(error)
    }
  }
  const readAll = async (): Promise<{ terminated: boolean }> => {
    while (!parts.terminated) {
      const { done, value } = await next()
      if (done || signal.aborted) break
      check(value)
      const events: ProviderEvent[] = []
      addOrPassOver(events, () => parts.read(value))
      const taken = take(events)
      if (taken !== undefined) await taken
      count += 1
      if (count % PARTS_A_TURN === 0) await nextTurn()
    }
    return { terminated: parts.terminated }
  }

  return new Promise((resolve, reject) => {
    const end = () => {
      signal.removeEventListener('abort', onAbort)
      cancel(() => reader)
    }
    const onAbort = () => {
      end()
      reject(abortedError(signal))
    }
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    readAll().then(resolve, reject).finally(end)
  })
}

/** Cancels a stream of which nothing more is wanted, so a failure to do so does not matter. */
export function cancel(open: () => ReturnType<ReadableStreamOf<unknown>['getReader']>): void {
  const cancelled = async () => open().cancel()
  cancelled().catch(() => {})
}
