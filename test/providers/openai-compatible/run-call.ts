import { isProviderError, type ProviderError } from '../../../src/base/errors.js'
import type { ProviderAdapter, ProviderCall, ProviderEvent } from '../../../src/contracts/providers.js'
import { openaiCompatible } from '../../../src/providers/openai-compatible/index.js'
import { ask } from '../../../src/testing/adapter/ask.js'
import { startScriptedUpstream } from '../../helpers/scripted-upstream.js'

/** An adapter with a scripted provider of its own. */
export async function openAdapter() {
  const upstream = await startScriptedUpstream()
  const adapter = openaiCompatible({ baseUrl: upstream.baseUrl })
  const close = async (): Promise<void> => {
    await adapter.close?.()
    await upstream.close()
  }
  return { upstream, adapter, close }
}

export type CallOptions = Partial<Omit<ProviderCall, 'sizes'>> & { sizes?: Partial<ProviderCall['sizes']> }

export function createCall({ sizes, ...options }: CallOptions = {}): ProviderCall {
  return {
    request: { model: 'upstream-model', messages: [{ role: 'user', content: 'Hi' }] },
    stream: true,
    auth: { kind: 'host' },
    timeouts: { connectMs: 10_000 },
    sizes: { eventBytes: 1_000_000, replyBytes: 10_000_000, ...sizes },
    signal: new AbortController().signal,
    requestId: 'request-1',
    ...options,
  }
}

export interface Outcome {
  /** The events that each `take` received. */
  reads: ProviderEvent[][]
  events: ProviderEvent[]
  terminated?: boolean
  error?: ProviderError
}

/** Runs a call until it succeeds or fails. Throws the failure if it is not a `ProviderError`. */
export async function runCall(
  adapter: ProviderAdapter,
  options: CallOptions = {},
  onTake: (events: readonly ProviderEvent[]) => void | Promise<void> = () => {},
): Promise<Outcome> {
  const reads: ProviderEvent[][] = []
  const outcome: Outcome = { reads, events: [] }
  try {
    const { terminated } = await ask(adapter, createCall(options), (events) => {
      reads.push([...events])
      return onTake(events)
    })
    outcome.terminated = terminated
  } catch (error) {
    if (!isProviderError(error)) throw error
    outcome.error = error
  }
  outcome.events = reads.flat()
  return outcome
}

/** Returns the text of all content deltas, parsed or not. */
export function textOf(events: readonly ProviderEvent[]): string {
  return events
    .map((event) => {
      const chunk =
        event.type === 'data'
          ? JSON.parse(Buffer.from(event.bytes, 'latin1').toString())
          : event.type === 'chunk'
            ? event.chunk
            : undefined
      return chunk?.choices?.[0]?.delta?.content ?? ''
    })
    .join('')
}

/** Returns the completion of an event after a round trip through JSON. */
export function completionOf(event: ProviderEvent | undefined): unknown {
  if (event?.type !== 'completion') return undefined
  return JSON.parse(JSON.stringify(event.completion))
}
