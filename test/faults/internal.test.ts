import { describe, expect, it, onTestFinished } from 'vitest'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import * as library from '../../src/index.js'
import type { LedgerStore } from '../../src/stores.js'
import { assertBalance, assertOneCharge } from '../helpers/charge-assertions.js'
import { createDeferred } from '../helpers/deferred.js'
import { Bench, type BenchOptions, PAYER } from './bench.js'
import { DONE, FINISH, HEAD, TOKENS, USAGE } from './upstream-scripts.js'

const WHOLE_REPLY = [HEAD, TOKENS, FINISH, USAGE, DONE, 'end'] as const

/**
 * A host's tokenizer that fails when the tokens of a reply are first counted, or only when they are counted
 * again.
 */
function failingCounter(answers: number): NonNullable<NonNullable<BenchOptions['router']>['tokenCounter']> {
  let tallies = 0
  return {
    tally() {
      const tally = byteRatioCounter.tally()
      if (tallies++ === 0) return tally
      const real = tally.atLeast.bind(tally)
      let asked = 0
      return Object.assign(tally, {
        atLeast() {
          if (asked++ < answers) return real()
          throw new Error('the tokenizer is broken')
        },
      })
    },
  }
}

function inPromises(ledger: LedgerStore): LedgerStore {
  return {
    ...ledger,
    hold: async (request, context) => ledger.hold(request, context),
    settle: async (request, context) => ledger.settle(request, context),
    release: async (request, context) => ledger.release(request, context),
  }
}

describe("an internal fault after the provider's reply", () => {
  it.each([
    [true, 0, 'at once'],
    [true, 1, 'at once'],
    [true, 1, 'later'],
    [false, 0, 'at once'],
    [false, 1, 'at once'],
    [false, 1, 'later'],
  ])(
    'charges nothing, releases the hold and reports to the host (stream: %s, after %d answers, a ledger that answers %s)',
    async (stream, answers, when) => {
      const bench = await Bench.start(library, {
        router: { tokenCounter: failingCounter(answers) },
        wrap: (options) => (when === 'later' ? { ...options, ledger: inPromises(options.ledger) } : options),
      })
      onTestFinished(() => bench.finish({ faults: 1 }))
      bench.upstream.script(WHOLE_REPLY)
      const call = bench.call(stream)
      await call.client.over
      const end = await bench.event('request-end', call)
      const wire = call.client.text
      expect(await assertOneCharge({ requestId: call.id, wire, end, ledger: bench.ledger })).toBe('0')
      expect(call.client.status).toBe(stream ? 200 : 500)
      expect(wire).toContain('internal_error')
      expect(wire).not.toContain('[DONE]')
      expect(wire).not.toContain('tokenizer')
      expect(bench.audit.released.size).toBe(1)
      await assertBalance(bench.ledger, PAYER, '1')
      const fault = await bench.event('fault', call)
      expect(fault.error.message).toBe('the tokenizer is broken')
    },
  )
})

describe('a tokenCounter that does not return a whole number', () => {
  it.each([
    ['atMost', Number.NaN],
    ['atLeast', 0.5],
    ['atMost', -1],
  ] as const)('is named, and nothing is held (%s: %d)', async (method, count) => {
    const tokenCounter = { tally: () => Object.assign(byteRatioCounter.tally(), { [method]: () => count }) }
    const bench = await Bench.start(library, { router: { tokenCounter } })
    onTestFinished(() => bench.finish({ faults: 1 }))
    const call = bench.call(false)
    await call.client.over
    const fault = await bench.event('fault', call)
    expect(fault.error.message).toBe(
      `The tokenCounter broke its contract: ${method}() must return a whole number from 0 up; got ${count}.`,
    )
    expect(call.client.status).toBe(500)
    expect(bench.audit.released.size).toBe(0)
    await assertBalance(bench.ledger, PAYER, '1')
  })

  it('ends no process if it is asynchronous by mistake and rejects', async () => {
    const rejecting = () => Promise.reject(new Error('The tokenizer is gone')) as unknown as number
    const tokenCounter = { tally: () => Object.assign(byteRatioCounter.tally(), { atMost: rejecting }) }
    const bench = await Bench.start(library, { router: { tokenCounter } })
    onTestFinished(() => bench.finish({ faults: 1 }))
    const call = bench.call(false)
    await call.client.over
    expect(call.client.status).toBe(500)
    await assertBalance(bench.ledger, PAYER, '1')
  })
})

describe('a client that leaves before any provider is called', () => {
  it.each([true, false])('is charged nothing, and no provider is called (stream: %s)', async (stream) => {
    const bench = await Bench.start(library)
    onTestFinished(() => bench.finish())
    const gate = createDeferred()
    bench.plan.next('hold', { when: gate.promise })
    bench.upstream.script(WHOLE_REPLY)
    const call = bench.call(stream)
    await bench.plan.asked('hold')
    await bench.leave(call)
    gate.resolve()
    const end = await bench.event('request-end', call)
    expect(await assertOneCharge({ requestId: call.id, wire: '', end, ledger: bench.ledger })).toBe('0')
    expect([end.outcome, end.status]).toEqual(['client-left', 499])
    expect(bench.upstream.requests).toEqual([])
    expect(bench.audit.released.size).toBe(1)
  })
})

describe('a client that leaves between two routes', () => {
  it('is charged nothing, and the next provider is not called', async () => {
    const prices = { input: '20', output: '40' }
    const bench = await Bench.start(library, { routes: [{}, { prices }] })
    onTestFinished(() => bench.finish())
    const gate = createDeferred()
    bench.plan.next('hold', undefined, { when: gate.promise })
    bench.upstreams[0]!.script(['reset'])
    bench.upstreams[1]!.script(WHOLE_REPLY)
    const call = bench.call(true)
    await bench.plan.asked('hold', 2)
    await bench.leave(call)
    gate.resolve()
    const end = await bench.event('request-end', call)
    expect(await assertOneCharge({ requestId: call.id, wire: '', end, ledger: bench.ledger })).toBe('0')
    expect(bench.upstreams[1]!.requests).toEqual([])
  })
})
