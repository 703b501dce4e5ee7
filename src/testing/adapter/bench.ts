import { strict as assert } from 'node:assert'
import { inspect } from 'node:util'
import { isProviderError, type ProviderError } from '../../base/errors.js'
import type { ProviderCall, ProviderEvent } from '../../contracts/index.js'
import { type ConformanceCase, checkAnswer, isObject } from '../base/case.js'
import { ask } from './ask.js'
import { createReply, type Reply } from './reply.js'
import type { AdapterHarness, AdapterScenario, AdapterUnderTest } from './scenario.js'

export type AdapterCase = Omit<ConformanceCase<AdapterHarness>, 'needs'>

type Take = (events: readonly ProviderEvent[]) => void | Promise<void>

/** An adapter with its upstream, and shortcuts to call it. */
export interface AdapterBench extends AdapterUnderTest {
  /** Creates a call that asks for a short answer. `request` adds to its body. */
  call(
    fields?: Partial<Omit<ProviderCall, 'request'>>,
    request?: Readonly<Record<string, unknown>>,
  ): ProviderCall
  /** Runs a call to its end. `take` also calls `onTake`. */
  run(call: ProviderCall, onTake?: Take): Promise<Outcome>
}

export interface Outcome {
  readonly reply: Reply
  /** Undefined if the call rejected. */
  readonly terminated: boolean | undefined
  readonly error: ProviderError | undefined
}

const MEBIBYTE = 1_048_576
const PATIENCE_MS = 10_000

/** Creates a case on a fresh adapter whose upstream plays `scenario`. */
export function adapterCase(
  id: string,
  name: string,
  scenario: AdapterScenario,
  check: (bench: AdapterBench) => Promise<void>,
): AdapterCase {
  return {
    id,
    name,
    async run(harness) {
      const opened = await harness.open(scenario)
      const isComplete = isObject(opened) && isObject(opened.adapter) && typeof opened.close === 'function'
      checkAnswer(
        'open',
        opened,
        isComplete,
        '{ adapter, upstreamModel, requests, firstRequest, sentBytes, close }',
      )
      try {
        await check(createBench(opened))
      } finally {
        // Closes both together: an adapter may wait for calls that end only when the provider closes the connection.
        await Promise.all([opened.close(), opened.adapter.close?.()])
      }
    },
  }
}

function createBench(opened: AdapterUnderTest): AdapterBench {
  const { adapter, upstreamModel, requests, firstRequest } = opened
  return {
    adapter,
    upstreamModel,
    requests,
    firstRequest,
    sentBytes: () => opened.sentBytes(),
    close: () => opened.close(),
    call: (fields = {}, request = {}) => ({
      request: deepFreeze({
        model: opened.upstreamModel,
        messages: [{ role: 'user', content: 'Say something.' }],
        ...request,
      }),
      stream: true,
      auth: { kind: 'host' },
      timeouts: { connectMs: PATIENCE_MS },
      sizes: { eventBytes: MEBIBYTE, replyBytes: 256 * MEBIBYTE },
      signal: new AbortController().signal,
      requestId: 'conformance',
      ...fields,
    }),
    async run(call, onTake = () => {}) {
      const reply = createReply()
      let busy = false
      // Kept because the adapter may treat it as a failure of its provider.
      let misuse: unknown
      const take = (events: readonly ProviderEvent[]): void | Promise<void> => {
        try {
          assert.equal(busy, false, 'take was called before the promise that it returned had settled')
          assert.ok(
            Array.isArray(events),
            'take must be called with an array of events, empty if there are none',
          )
          reply.read(events)
          const taken = onTake(events)
          if (taken === undefined) return undefined
          busy = true
          return taken.finally(() => {
            busy = false
          })
        } catch (error) {
          misuse ??= error
          throw error
        }
      }
      const [ended] = await Promise.allSettled([ask(opened.adapter, call, take)])
      if (misuse !== undefined) throw misuse
      if (ended.status === 'fulfilled') {
        const { value } = ended
        checkAnswer(
          'chat',
          value,
          isObject(value),
          '{ terminated }, whether the provider reported the end of its reply',
        )
        return { reply, terminated: value.terminated, error: undefined }
      }
      const { reason } = ended
      assert.ok(isProviderError(reason), `a call must reject with a ProviderError; got ${inspect(reason)}`)
      return { reply, terminated: undefined, error: reason }
    },
  }
}

/** Returns the result of `work`. Fails with the name of the event if it takes more than ten seconds. */
export async function promptly<Result>(event: string, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new assert.AssertionError({ message: `Timed out waiting for ${event}` })),
      PATIENCE_MS,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFreeze(member)
  }
  return Object.freeze(value)
}
