import { describe, expect, it } from 'vitest'
import type { Model, Route } from '../../src/contracts/index.js'
import { choose, ENVELOPE, healthBook, ids, MODEL, route, THREE_FAILURES } from './unit-routes.js'

const a = route('a')
const b = route('b')
const c = route('c')
const all = [a, b, c]

/** The error for a caller if there is no route. */
function refusal(run: () => unknown): Record<string, unknown> {
  try {
    run()
  } catch (error) {
    const { code, details, message, param, status } = error as Record<string, unknown>
    return { code, details, message, param, status }
  }
  throw new Error('A route was chosen.')
}

describe("routes without the caller's preferences", () => {
  it("keep the host's order if they cost the same", () => {
    const choice = choose(all)
    expect(ids(choice)).toEqual(['a', 'b', 'c'])
    expect(choice.explanation).toEqual({ considered: ['a', 'b', 'c'], excluded: [], chosenBy: 'price' })
  })

  it('are cheapest first if their prices differ', () => {
    const cheap = route('cheap', { prices: { input: '0.5', output: '1' } })
    const free = route('free', { prices: { input: '0', output: '0' } })
    expect(ids(choose([a, cheap, free]))).toEqual(['free', 'cheap', 'a'])
  })

  it('are cheapest first for 1,000 tokens in and out, the price of a request included', () => {
    const dear = route('dear', { prices: { input: '1', output: '1', request: '0.003' } })
    const cheap = route('cheap', { prices: { input: '2', output: '2', request: '0.0009' } })
    expect(ids(choose([dear, cheap]))).toEqual(['cheap', 'dear'])
  })

  it('are cheapest first if a row has null for their weight', () => {
    const cheap = { ...route('cheap', { prices: { input: '0.5', output: '1' } }), weight: null }
    expect(ids(choose([a, cheap as unknown as Route]))).toEqual(['cheap', 'a'])
  })

  it('are compared by the tier that the prompt falls into', () => {
    const tiered = route('tiered', {
      prices: { input: '0.5', output: '1', tiers: [{ above: 1_000, input: '9', output: '9' }] },
    })
    expect(ids(choose([a, tiered], { promptTokens: 1_000 }))).toEqual(['tiered', 'a'])
    expect(ids(choose([a, tiered], { promptTokens: 1_001 }))).toEqual(['a', 'tiered'])
  })

  it("exclude disabled routes, and those that are only for callers' keys", () => {
    const choice = choose([route('off', { enabled: false }), route('own', { byok: 'only' }), a])
    expect(ids(choice)).toEqual(['a'])
    expect(choice.explanation).toEqual({
      considered: ['a'],
      excluded: [
        { routeId: 'off', why: 'disabled' },
        { routeId: 'own', why: "only for a caller's own key" },
      ],
      chosenBy: 'only-route',
    })
  })

  it('are none if nothing is enabled, which is a 503', () => {
    for (const routes of [[], [route('off', { enabled: false })], [route('own', { byok: 'only' })]]) {
      expect(refusal(() => choose(routes))).toMatchObject({ code: 'no_route_available', status: 503 })
    }
  })

  it('fail differently if none exists than if all are temporarily unavailable', () => {
    expect(refusal(() => choose([]))).toMatchObject({
      message: expect.stringContaining('no provider is set up'),
    })
    expect(refusal(() => choose([route('off', { enabled: false })]))).toMatchObject({
      message: expect.stringContaining('just now'),
    })
  })

  it('exclude a route without a price if another has one', () => {
    const unpriced: Model = { id: 'acme/fast', created: 0, ownedBy: 'acme' }
    const priced = route('priced', { prices: { input: '1', output: '1' } })
    const unreadable = route('unreadable', { prices: { input: 'one', output: '1' } })
    const choice = choose([a, unreadable, priced], { model: unpriced })
    expect(ids(choice)).toEqual(['priced'])
    expect(choice.explanation.excluded).toEqual([
      { routeId: 'a', why: 'has no price' },
      { routeId: 'unreadable', why: 'has no price' },
    ])
    // Their quote reports that a price is missing.
    expect(ids(choose([a, unreadable], { model: unpriced }))).toEqual(['a', 'unreadable'])
  })

  it('are distributed by weight, if there is one, by a key of this call', () => {
    const heavy = route('heavy', { weight: 3 })
    const first = new Map<string, number>()
    for (let call = 0; call < 4_000; call++) {
      const choice = choose([a, heavy], { spreadKey: `call-${call}` })
      expect(choice.explanation.chosenBy).toBe('weight')
      first.set(ids(choice)[0]!, (first.get(ids(choice)[0]!) ?? 0) + 1)
    }
    expect(first.get('heavy')! / first.get('a')!).toBeGreaterThan(2.7)
    expect(first.get('heavy')! / first.get('a')!).toBeLessThan(3.3)
  })

  it('stay with a session, and sessions with the same name are spread over their accounts', () => {
    const firsts = new Set<string | undefined>()
    for (let number = 0; number < 30; number++) {
      const options = { account: `account-${number}`, body: { session_id: '1' } }
      const choice = choose(all, { ...options, spreadKey: 'call-1' })
      expect(choice.explanation.chosenBy).toBe('affinity')
      expect(ids(choose([c, b, a], { ...options, spreadKey: 'call-2' }))).toEqual(ids(choice))
      firsts.add(ids(choice)[0])
    }
    expect([...firsts].sort()).toEqual(['a', 'b', 'c'])
  })
})

describe('the routing field', () => {
  const choosePreferred = (routing: object, routes = all, more: object = {}) =>
    choose(routes, { body: { routing, ...more } })

  it('puts the providers of order first, and the others after them', () => {
    const choice = choosePreferred({ order: ['c', 'b'] })
    expect(ids(choice)).toEqual(['c', 'b', 'a'])
    expect(choice.explanation.chosenBy).toBe('order')
  })

  it('keeps the providers of only, and drops those of ignore', () => {
    expect(ids(choosePreferred({ only: ['b', 'c'] }))).toEqual(['b', 'c'])
    expect(ids(choosePreferred({ ignore: ['a'] }))).toEqual(['b', 'c'])
    const both = choosePreferred({ only: ['b', 'c'], ignore: ['b'] })
    expect(ids(both)).toEqual(['c'])
    expect(both.explanation).toEqual({
      considered: ['c'],
      excluded: [
        { routeId: 'a', why: 'not in routing.only' },
        { routeId: 'b', why: 'in routing.ignore' },
      ],
      chosenBy: 'only-route',
    })
  })

  it('without fallbacks tries a single route, or those of order', () => {
    const one = choosePreferred({ allow_fallbacks: false })
    expect(ids(one)).toEqual(['a'])
    expect(one.explanation.excluded.map(({ why }) => why)).toEqual([
      'routing.allow_fallbacks is false',
      'routing.allow_fallbacks is false',
    ])
    expect(ids(choosePreferred({ order: ['c', 'a'], allow_fallbacks: false }))).toEqual(['c', 'a'])
    expect(ids(choosePreferred({ order: ['c', 'a'], allow_fallbacks: true }))).toEqual(['c', 'a', 'b'])
  })

  it("sorts by price, and keeps the host's order among equals", () => {
    const cheap = route('cheap', { prices: { input: '0', output: '1' } })
    const choice = choosePreferred({ sort: 'price' }, [...all, cheap])
    expect(ids(choice)).toEqual(['cheap', 'a', 'b', 'c'])
    expect(choice.explanation.chosenBy).toBe('sort')
  })

  it('sorts by measured latency and throughput; routes without a recent measurement come first', () => {
    const { book, clock, tell } = healthBook()
    tell(a, { ok: true, firstTokenMs: 300, tokensPerSecond: 90 })
    tell(b, { ok: true, firstTokenMs: 200, tokensPerSecond: 50 })
    tell(c, { ok: true, firstTokenMs: 100, tokensPerSecond: 10 })
    const by = (sort: string, routes = all) =>
      ids(choose(routes, { body: { routing: { sort } }, health: book }))
    expect(by('latency')).toEqual(['c', 'b', 'a'])
    expect(by('throughput')).toEqual(['a', 'b', 'c'])
    expect(by('latency', [a, route('new'), c])).toEqual(['new', 'c', 'a'])
    expect(by('throughput', [c, route('new'), a])).toEqual(['new', 'a', 'c'])
    clock.advance(600_001)
    tell(c, { ok: true, firstTokenMs: 1, tokensPerSecond: 1_000 })
    expect(by('latency')).toEqual(['a', 'b', 'c'])
  })

  it('combines order with sort: the listed providers first, the others sorted', () => {
    const cheap = route('cheap', { prices: { input: '0', output: '1' } })
    expect(ids(choosePreferred({ order: ['b'], sort: 'price' }, [...all, cheap]))).toEqual([
      'b',
      'cheap',
      'a',
      'c',
    ])
  })

  it.each([
    ['input', { input: '1.5', output: '2' }],
    ['output', { input: '1', output: '2.5' }],
    ['output', { input: '1', output: '2', reasoning: '2.5' }],
    ['request', { input: '1', output: '2', request: '0.01' }],
  ])('drops a route that is more expensive in %s than max_price', (part, prices) => {
    const dear = route('dear', { prices })
    const max: Record<string, unknown> = { input: '1', output: 2, request: '0.009' }
    expect(ids(choosePreferred({ max_price: max }, [dear, a]))).toEqual(['a'])
    delete max[part]
    expect(new Set(ids(choosePreferred({ max_price: max }, [dear, a])))).toEqual(new Set(['a', 'dear']))
  })

  it('keeps a route at exactly max_price, read as its shortest decimal', () => {
    const exact = route('exact', { prices: { input: '0.15', output: '0.6' } })
    expect(ids(choosePreferred({ max_price: { input: 0.15, output: 0.6 } }, [exact]))).toEqual(['exact'])
    expect(refusal(() => choosePreferred({ max_price: { input: '0.149999999' } }, [exact])).code).toBe(
      'no_route_matches',
    )
  })

  it('compares max_price with prices that include the markup of the caller', () => {
    const marked = route('marked', { prices: { input: '1', output: '2' } })
    const markup = { basisPoints: 5_000n, flat: 1_000_000n }
    const at = (max_price: object) => choose([marked], { body: { routing: { max_price } }, markup })
    expect(ids(at({ input: '1.5', output: '3', request: '0.001' }))).toEqual(['marked'])
    for (const max of [{ input: '1.499999999' }, { output: '2.999999999' }, { request: '0.000999999' }]) {
      expect(refusal(() => at(max)).code).toBe('no_route_matches')
    }
  })

  it('compares max_price with every tier that the prompt may fall into', () => {
    const tiered = route('tiered', {
      prices: { input: '0.5', output: '1', tiers: [{ above: 1_000, input: '3', output: '1' }] },
    })
    const at = (promptTokens: number) =>
      choose([tiered], { body: { routing: { max_price: { input: 1 } } }, promptTokens })
    expect(ids(at(1_000))).toEqual(['tiered'])
    expect(refusal(() => at(1_001)).code).toBe('no_route_matches')
  })

  it('with require_parameters keeps only routes that know every parameter of the request', () => {
    const bare = route('bare', { supportedParameters: ['temperature'] })
    const rich = route('rich', { supportedParameters: ['temperature', 'top_p'] })
    const more = { temperature: 0, top_p: 0.5 }
    expect(ids(choosePreferred({ require_parameters: true }, [bare, rich], more))).toEqual(['rich'])
    expect(ids(choosePreferred({ require_parameters: false }, [bare, rich], more))).toEqual(['bare', 'rich'])
    expect(ids(choosePreferred({ require_parameters: true }, [bare, rich], { temperature: 0 }))).toEqual([
      'bare',
      'rich',
    ])
  })

  it("uses the model's list if a route has none", () => {
    const model = { ...MODEL, supportedParameters: ['top_p'] }
    const bare = route('bare', { supportedParameters: ['temperature'] })
    const choice = choose([bare, a], { model, body: { top_p: 0.5, routing: { require_parameters: true } } })
    expect(ids(choice)).toEqual(['a'])
  })

  it('drops routes that do not support a parameter, and refuses it if none is left', () => {
    const search = route('search', { supportedParameters: ['enable_search'] })
    const body = { enable_search: true }
    expect(ids(choose([a, search], { body }))).toEqual(['search'])
    expect(choose([a, search], { body }).explanation.excluded).toEqual([
      { routeId: 'a', why: 'may not be sent a parameter of the request' },
    ])
    expect(refusal(() => choose([a], { body }))).toMatchObject({
      code: 'unsupported_parameter',
      param: 'enable_search',
    })
    const off = route('off', { supportedParameters: ['enable_search'], enabled: false })
    expect(refusal(() => choose([a, off], { body })).code).toBe('unsupported_parameter')
  })

  it.each(['order', 'only', 'ignore'])('refuses a name in %s that no provider of the model has', (list) => {
    const off = route('off', { enabled: false })
    expect(refusal(() => choosePreferred({ [list]: ['a', 'x'] }, [a, off]))).toMatchObject({
      code: 'invalid_request',
      status: 400,
      param: `routing.${list}.1`,
      message: `routing.${list}.1 names no provider of the model 'acme/fast'. Its providers are: a, off.`,
    })
    const pinned = { provider: 'a', provider_key: ENVELOPE }
    expect(refusal(() => choosePreferred({ [list]: ['a', 'x'] }, [a, off], pinned)).code).toBe(
      'invalid_request',
    )
  })

  it('explains for every provider why it does not match if none is left', () => {
    const off = route('off', { enabled: false })
    expect(
      refusal(() => choosePreferred({ only: ['b', 'off'], max_price: { output: 1 } }, [a, b, off])),
    ).toEqual({
      code: 'no_route_matches',
      status: 400,
      param: 'routing',
      message: "No provider of the model 'acme/fast' matches the routing preferences. Relax them in routing.",
      details: [
        { provider: 'a', message: 'not in routing.only' },
        { provider: 'b', message: 'over routing.max_price' },
      ],
    })
    expect(refusal(() => choosePreferred({ only: ['off'] }, [a, off])).code).toBe('no_route_matches')
    expect(refusal(() => choosePreferred({ only: [] })).code).toBe('no_route_matches')
  })
})

describe('a pinned provider', () => {
  const pin = (provider: string, routes = all, more: object = {}) =>
    choose(routes, { body: { provider, provider_key: ENVELOPE, ...more } })

  it('leaves the one route of that provider, whatever routing says', () => {
    const choice = pin('b', all, { routing: { only: ['a'], order: ['c'] } })
    expect(ids(choice)).toEqual(['b'])
    expect(choice.explanation).toEqual({
      considered: ['b'],
      excluded: [
        { routeId: 'a', why: 'not the pinned provider' },
        { routeId: 'c', why: 'not the pinned provider' },
      ],
      chosenBy: 'pin',
    })
  })

  it("may have routes that are only for callers' keys", () => {
    expect(ids(pin('own', [route('own', { byok: 'only' })]))).toEqual(['own'])
  })

  it('with several routes gets one, always the same for a session', () => {
    const routes = Array.from({ length: 4 }, (_, number) => route(`b:${number}`))
    const picked = new Set<string>()
    for (let session = 0; session < 40; session++) {
      const first = pin('b', routes, { session_id: `session-${session}` })
      expect(ids(first)).toHaveLength(1)
      expect(ids(pin('b', [...routes].reverse(), { session_id: `session-${session}` }))).toEqual(ids(first))
      picked.add(ids(first)[0]!)
    }
    expect(picked.size).toBe(4)
    expect(pin('b', routes).explanation.excluded).toHaveLength(3)
  })

  it.each([
    ['not known', 'x', all],
    ['disabled', 'b', [a, route('b', { enabled: false })]],
    ['closed to keys of callers', 'b', [a, route('b', { byok: 'no' })]],
  ])('is refused if it is %s, naming valid ones without repeating the given name', (_, name, routes) => {
    const { code, message, param, status } = refusal(() => pin(name, routes))
    expect({ code, param, status }).toEqual({
      code: 'provider_not_enabled',
      param: 'provider',
      status: 400,
    })
    expect(message).toMatch(/Those that do are: a(, b, c)?\.$/)
  })

  it('must match in case and spelling', () => {
    for (const name of ['B', 'b ', ' b', 'b:']) {
      expect(refusal(() => pin(name)).code, name).toBe('provider_not_enabled')
    }
  })
})

describe('the health of a route', () => {
  it('moves it behind the others, is given as the reason, and never drops it', () => {
    const { book, clock, tell } = healthBook()
    tell(a, ...THREE_FAILURES)
    tell(b, { ok: false, retryAfterSeconds: 30 })
    const choice = choose(all, { health: book })
    expect(ids(choice)).toEqual(['c', 'a', 'b'])
    expect(choice.explanation).toEqual({
      considered: ['c', 'a', 'b'],
      excluded: [],
      behind: [
        { routeId: 'a', why: 'breaker open' },
        { routeId: 'b', why: 'retry-after' },
      ],
      chosenBy: 'price',
    })
    expect(ids(choose([a], { health: book }))).toEqual(['a'])
    expect(ids(choose([a, b], { health: book }))).toEqual(['a', 'b'])
    clock.advance(5_000)
    expect(ids(choose(all, { health: book }))).toEqual(['a', 'c', 'b'])
    clock.advance(25_000)
    expect(choose(all, { health: book }).explanation).toEqual({
      considered: ['a', 'b', 'c'],
      excluded: [],
      chosenBy: 'price',
    })
  })

  it('takes precedence over order and sort, and picks the single route without fallbacks', () => {
    const { book, tell } = healthBook()
    tell(a, ...THREE_FAILURES)
    const choosePreferred = (routing: object) => ids(choose(all, { body: { routing }, health: book }))
    expect(choosePreferred({ order: ['a', 'b'] })).toEqual(['b', 'c', 'a'])
    expect(choosePreferred({ sort: 'price' })).toEqual(['b', 'c', 'a'])
    expect(choosePreferred({ allow_fallbacks: false })).toEqual(['b'])
    expect(choosePreferred({ only: ['a'] })).toEqual(['a'])
  })
})
