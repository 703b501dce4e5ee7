import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RouterEvent } from '../src/contracts/events.js'
import { printFailures } from '../src/print-failures.js'
import { answerJson } from './helpers/scripted-upstream.js'
import { refusedWith } from './wire/error-cases.js'
import { ask, MODEL, providerReply, WireService } from './wire/service.js'

let lines: string[]
beforeEach(() => {
  lines = []
  vi.spyOn(console, 'error').mockImplementation((line) => void lines.push(String(line)))
})
afterEach(() => vi.restoreAllMocks())

const failed = (outcome: string, more: object = {}): RouterEvent =>
  ({ type: 'request-end', operation: 'chat', requestId: 'r-1', outcome, status: 502, ...more }) as RouterEvent

describe('a printed failure', () => {
  it('includes its request, model, routes and reasons', () => {
    const print = printFailures(console.error, () => 0)
    const attempts = [
      { routeId: 'openai:m', outcome: 'provider_auth_failed', why: 'The provider answered 401.' },
      { routeId: 'other:m', outcome: 'no_route_available' },
    ]
    print(failed('provider_auth_failed', { facts: { model: 'acme/fast' }, routing: { attempts } }))
    print({
      type: 'store-fault',
      store: 'ledger',
      requestId: 'r-2',
      error: { name: 'Error', message: 'gone', cause: { name: 'E', message: 'why' } },
    })
    print({ type: 'route-disabled', routeId: 'openai:m', why: 'There is no adapter "x"' })
    expect(lines).toEqual([
      'compat-router: chat for acme/fast failed with 502 provider_auth_failed: openai:m: The provider answered 401.; other:m: no_route_available [r-1] Set onEvent to receive every event, or to false to print nothing.',
      'compat-router: a store failed (ledger): Error: gone: E: why [r-2]',
      'compat-router: a route cannot be used (openai:m): There is no adapter "x"',
    ])
  })

  it('appears once in ten seconds for each kind, with the number of the others', () => {
    let now = 0
    const print = printFailures(console.error, () => now)
    for (const at of [0, 1, 9_999, 10_000, 10_001, 30_000]) {
      now = at
      print(failed('provider_error'))
    }
    print(failed('provider_timeout'))
    expect(lines.map((line) => line.replace(/ Set onEvent.*/, ''))).toEqual([
      'compat-router: chat failed with 502 provider_error [r-1]',
      'compat-router: chat failed with 502 provider_error [r-1] (and 2 more before)',
      'compat-router: chat failed with 502 provider_error [r-1] (and 1 more before)',
      'compat-router: chat failed with 502 provider_timeout [r-1]',
    ])
  })

  it('is not an event that needs no attention', () => {
    const print = printFailures(console.error, () => 0)
    print({ type: 'request-trimmed', requestId: 'r', model: 'm', members: ['x'] })
    expect(lines).toEqual([])
  })
})

describe('a router without onEvent', () => {
  const start = (onEvent: false | undefined) => WireService.start({ router: () => ({ onEvent }) as never })

  it('prints only provider failures', async () => {
    const service = await start(undefined)
    service.upstream.scriptOnce(answerJson(providerReply()))
    expect((await service.post(ask())).status).toBe(200)
    service.upstream.scriptOnce(refusedWith(401))
    expect((await service.post(ask())).status).toBe(502)
    expect((await service.post(ask({ model: 'acme/none' }))).status).toBe(404)
    expect(lines).toEqual([
      expect.stringMatching(`^compat-router: chat for ${MODEL} failed with 502 provider_auth`),
    ])
    expect(lines[0]).toContain('The provider answered 401')
    await service.close()
  })

  it('prints nothing if onEvent is false', async () => {
    const service = await start(false)
    service.upstream.scriptOnce(refusedWith(401))
    expect((await service.post(ask())).status).toBe(502)
    expect(lines).toEqual([])
    await service.close()
  })
})
