import { describe, expect, it, onTestFinished } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { eventError } from '../../src/engine/events/event-error.js'
import { memoryLedger, memoryProviders } from '../../src/index.js'
import { MODEL, type ServiceOptions, startService, UPSTREAM_MODEL } from '../routing/service.js'

const unreadable = () => {
  throw new Error('cannot be read')
}
/** Unusual values that stores, drivers and listeners of hosts may throw. */
const ODD: [string, unknown][] = [
  ['an error whose message is an object', Object.assign(new Error(), { message: { code: 5 } })],
  ['an error without a message', Object.assign(new Error(), { message: undefined })],
  [
    'an error whose name and stack are not strings',
    Object.assign(new Error('x'), { name: 5n, stack: ['a'] }),
  ],
  [
    'an error whose message cannot be read',
    Object.defineProperty(new Error(), 'message', { get: unreadable }),
  ],
  ['an object that is not an error', Object.create(null)],
  ['an object that cannot be converted to a string', { toString: unreadable }],
  ['an object that throws on every access', new Proxy({}, { get: unreadable, has: unreadable })],
  ['an error caused by such an object', new Error('x', { cause: Object.create(null) })],
]

describe('an error in an event', () => {
  it('keeps its name, message and stack, and names its cause', () => {
    const error = new TypeError('no such table', { cause: new Error('connection lost') })
    expect(eventError(error)).toMatchObject({
      name: 'TypeError',
      message: 'no such table',
      stack: expect.stringContaining('event-error.test.ts'),
      cause: { name: 'Error', message: 'connection lost' },
    })
  })

  it.each([
    ['an API key', 'refused sk-abcdef123456'],
    ['an access token', 'refused at-abcdef123456'],
    ['a header', 'sent Bearer abcdef123456'],
    ['the password in an address', 'cannot reach postgres://app:hunter22@db/x'],
    ['an envelope', 'cannot open v1.eyJhbGciOi..iv.cipher.tag'],
  ])('contains no part of %s', (_what, message) => {
    const { message: shown } = eventError(new Error(message))
    expect(shown).toContain('[secret]')
    expect(shown).not.toMatch(/abcdef123456|hunter22|cipher/)
  })

  it('contains no part of a password in an address that is cut off within it', () => {
    const address = 'postgres://app:hunter22hunter22@db/x'
    for (let before = 460; before < 500; before++) {
      const { message } = eventError(new Error(`${' '.repeat(before)}${address}`))
      expect(message).not.toMatch(/hun/)
    }
  })

  it('goes three causes deep and no deeper', () => {
    const deep = [1, 2, 3, 4, 5].reduce<Error>((cause, n) => new Error(String(n), { cause }), new Error('0'))
    let depth = 0
    for (let seen = eventError(deep).cause; seen !== undefined; seen = seen.cause) depth++
    expect(depth).toBe(3)
  })

  it.each(ODD)('can be made from %s', (_what, thrown) => {
    const { name, message } = eventError(thrown)
    expect([typeof name, typeof message]).toEqual(['string', 'string'])
    expect(() => JSON.stringify(eventError(thrown))).not.toThrow()
  })
})

describe.each(ODD)('a thrown %s', (_what, thrown) => {
  const start = async (router: ServiceOptions['router']) => {
    const service = await startService({ router: { ...router, timeouts: { settleMs: 100 } } })
    onTestFinished(() => service.close())
    return service
  }
  const ledger = memoryLedger({ alice: '1' })
  const rejects = async () => Promise.reject(thrown)

  it('from a hold is reported, and the client gets an answer', async () => {
    const service = await start({ ledger: { ...ledger, hold: rejects } })
    const answer = await service.ask()
    expect(answer.status).toBe(503)
    await service.end(answer)
    expect(service.events).toMatchObject([{}, { type: 'store-fault', store: 'ledger' }, {}])
  })

  it('from a catalogue is reported, and the client gets an answer', async () => {
    const service = await start({ catalogue: { get: rejects, list: rejects } })
    const answer = await service.ask()
    expect([answer.status, await service.end(answer)]).toMatchObject([
      503,
      { outcome: 'catalogue_unavailable' },
    ])
    expect(service.events).toMatchObject([{}, { type: 'store-fault', store: 'catalogue' }, {}])
  })

  it('from a settlement is reported with the charge, and the router can be closed', async () => {
    const service = await start({ ledger: { ...ledger, settle: rejects } })
    const answer = await service.ask()
    const { charge } = await service.end(answer)
    await service.router.close()
    expect([answer.status, service.router.openHolds]).toEqual([200, 0])
    const failed = service.events.find(({ type }) => type === 'charge-failed')
    expect(failed).toMatchObject({ request: { charge } })
  })

  it.each<[string, ProviderAdapter['chat']]>([
    ['rejects', rejects],
    [
      'throws',
      () => {
        throw thrown
      },
    ],
  ])(
    'with which an adapter %s is reported, the client gets an answer, and nothing stays on hold',
    async (_how, chat) => {
      const models = { [MODEL]: UPSTREAM_MODEL }
      const service = await start({ providers: memoryProviders([{ id: 'acme', models, adapter: { chat } }]) })
      const answer = await service.ask({ stream: true })
      expect([answer.status, await service.end(answer)]).toMatchObject([502, { outcome: 'provider_error' }])
      expect([service.router.inFlight, service.router.openHolds]).toEqual([0, 0])
      expect(service.events).toMatchObject([{}, { type: 'fault', where: 'adapter' }, {}])
    },
  )

  it('from a listener affects nobody', async () => {
    const onEvent = () => {
      throw thrown
    }
    const service = await start({ onEvent })
    expect((await service.ask({ stream: true })).text).toContain('[DONE]')
  })
})
