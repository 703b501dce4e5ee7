import { expect } from 'vitest'
import { type MarkupTerms, NO_MARKUP } from '../../src/base/prices.js'
import type { Model, Route, RouterEvent } from '../../src/contracts/index.js'
import type { Plan } from '../../src/contracts/operation.js'
import { createPriceReader } from '../../src/engine/charging/quote.js'
import { chooseRoutes, type RouteChoice } from '../../src/engine/routing/route-choice.js'
import { type CallResult, RouteHealthBook } from '../../src/engine/routing/route-health.js'
import { chat } from '../../src/operations/chat/index.js'
import { createManualClock, type ManualClock } from '../conformance/manual-clock.js'
import { headersOf } from '../helpers/headers-of.js'

export const MODEL: Model = {
  id: 'acme/fast',
  created: 0,
  ownedBy: 'acme',
  prices: { input: '1', output: '2' },
}

/** A route that nobody calls, open to callers' keys. Its provider is the part of its id before the colon. */
export function route(id: string, more: Partial<Route> = {}): Route {
  const adapter = { chat: () => Promise.reject(new Error('not called')), takesKeys: true, hasKey: true }
  return { id, provider: id.split(':')[0]!, adapter, upstreamModel: 'upstream-model', byok: 'yes', ...more }
}

export interface Choosing {
  readonly body?: object
  readonly account?: string
  readonly markup?: MarkupTerms
  readonly model?: Model
  readonly promptTokens?: number
  readonly health?: RouteHealthBook
  readonly spreadKey?: string
}

export function choose(routes: readonly Route[], options: Choosing = {}): RouteChoice {
  const {
    account = 'alice',
    markup = NO_MARKUP,
    model = MODEL,
    promptTokens = 10,
    spreadKey = 'call-1',
  } = options
  const messages = [{ role: 'user', content: 'Hello' }]
  const asked = chat.read({ value: { model: model.id, messages, ...options.body } }, headersOf({}))
  const plan: Plan = {
    input: { atMost: () => promptTokens, atLeast: promptTokens, hasMedia: false },
    outputOn: () => ({ least: 0, usual: 0, most: 0, step: 1 }),
    choices: 1,
    on: ({ adapter }) =>
      adapter.chat && { run: () => expect.fail('not called'), reply: () => expect.fail('not called') },
    forget: () => expect.fail('not called'),
  }
  return chooseRoutes(
    { operation: chat, routes, model, asked, plan, account, markup, spreadKey: () => spreadKey },
    options.health ?? healthBook().book,
    createPriceReader(),
  )
}

export function ids(choice: RouteChoice): readonly string[] {
  return choice.routes.map(({ id }) => id)
}

/** A health book with its own clock, and short names for the outcomes of calls. */
export function healthBook(): {
  readonly book: RouteHealthBook
  readonly clock: ManualClock
  readonly events: readonly RouterEvent[]
  tell(route: Route, ...results: readonly CallResult[]): void
} {
  const clock = createManualClock()
  const events: RouterEvent[] = []
  const book = new RouteHealthBook({ clock, wallClock: clock, emit: (event) => events.push(event) })
  return {
    book,
    clock,
    events,
    tell(target, ...results) {
      for (const result of results) book.end(book.begin(target, 'alice'), result)
    },
  }
}

export const FAILED: CallResult = { ok: false }
/** The provider did not take the call. */
export const OUT: CallResult = { ok: false, isOutage: true }
export const FINE: CallResult = { ok: true }

/** Opens a route's breaker. */
export const THREE_FAILURES = [FAILED, FAILED, FAILED]

/** An envelope in shape only. */
export const ENVELOPE = 'v1.eyJ.eyJ.eyJ.eyJ.eyJ'
