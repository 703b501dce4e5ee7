import { type CallPlan, MISBEHAVIOURS } from './call-plan.js'
import { comparable, errorCode, shownCost } from './caller.js'
import { unlistedInAnthropic } from './listed-anthropic-fields.js'
import { unlistedIn, unlistedInEmbeddings } from './listed-fields.js'
import type { Arrival } from './provider.js'
import { APP_USER, HOST_KEY, isBounded, OWN_KEY, POOR, RICH } from './scenario.js'
import type { MadeCall, World } from './world.js'

export interface Violation {
  /** The broken promise. */
  readonly kind: string
  readonly call: string
  readonly message: string
}

const IDLE_MS = 120_000
const LIMIT_CODES = ['budget_exceeded', 'budget_on_hold', 'rate_limited']

/** Checks everything that was observed in a world for violations. */
export function checkWorld(world: World, healthBefore: ReturnType<World['health']>): readonly Violation[] {
  const violations: Violation[] = []
  for (const call of world.calls) {
    const { plan } = call
    const violate = (kind: string, message: string): void => {
      violations.push({ kind, call: plan.name, message })
    }
    checkMoney(world, call, violate)
    checkArrivals(world, call, violate)
    checkChosenOutput(world, call, violate)
    checkCredit(call, violate)
    checkHonesty(world, call, violate)
  }
  checkSecrecy(world, violations)
  checkControls(world, violations)
  checkWhole(world, healthBefore, violations)
  return violations
}

type Violate = (kind: string, message: string) => void

interface Money {
  readonly billed: bigint
  readonly held: bigint
  readonly charged: bigint
}

function moneyOf(
  world: World,
  call: MadeCall,
): Money & { readonly shortfall: bigint; readonly isReported: boolean } {
  const { audit } = world
  const billed = call.arrivals.reduce((sum, { bill }) => sum + (bill?.cost ?? 0n), 0n)
  let held = 0n
  let charged = 0n
  let shortfall = 0n
  let isReported = false
  for (const { request, result } of world.holdsOf(call.requestId)) {
    if (!result.ok) continue
    held = request.amount
    const settlement = audit.settlements.get(request.holdId)
    if (settlement === undefined) continue
    charged += settlement.charge.cost
    shortfall += settlement.charge.shortfall ?? 0n
    isReported ||= settlement.charge.basis === 'reported'
  }
  return { billed, held, charged, shortfall, isReported }
}

function checkMoney(world: World, call: MadeCall, violate: Violate): void {
  const { caller, end, plan } = call
  const money = moneyOf(world, call)
  const { billed, charged, held, isReported, shortfall } = money
  const figures = describeMoney(money)
  const excuse = excuseOf(world, call)
  if (charged < billed && charged < held && excuse === undefined) violate('underpaid', figures)
  const overruns = plan.reply.overruns && plan.reply.thinking > 0
  if (isBounded(world.scenario, plan.account) && !overruns && !isOnOwnKey(call)) {
    // A reply longer than its provider bills for may have been cut off at the hold.
    // A provider that failed before its first token may also have billed.
    const billedLast = call.arrivals.at(-1)?.bill?.cost ?? 0n
    if (shortfall > 0n && billedLast > charged) violate('shortfall', `${figures}, short ${shortfall}`)
  }
  const model = world.modelOf(plan)
  // Only neverOverdraw promises to hold the tokens of Anthropic's own instructions about tools.
  const isInstructed = model.language === 'anthropic' && plan.text.includes('"tools"')
  // A hold covers one provider's bill. One that failed before its first token may also have billed.
  const isBilledOnce = call.arrivals.length === 1
  const isCounted = isBilledOnce && model.actual.tokenizer !== 'bytes-after-nfkc' && !isInstructed
  if (plan.isPlain && isCounted && !overruns && billed > held && held > 0n) violate('held-too-low', figures)
  if (charged > billed && isReported && excuse === undefined) {
    violate('overcharged', figures)
  }
  const shown = caller.hasLeft || end?.replayed === true ? undefined : shownCost(caller.text)
  if (shown !== undefined && shown !== Number(charged) / 1e9) {
    violate('wire-and-ledger-differ', `the wire says ${shown}, the ledger ${charged}`)
  }
  const told = end?.charge?.cost ?? 0n
  if (end !== undefined && end.replayed !== true && told !== charged) {
    violate('event-and-ledger-differ', `the event says ${told}, the ledger ${charged}`)
  }
}

/** A valid reason for a call to cost less than its bill and its hold. */
function excuseOf(world: World, call: MadeCall): string | undefined {
  const { arrivals, caller, plan } = call
  const { reply } = plan
  if (isOnOwnKey(call)) return 'the caller’s own key paid'
  const last = arrivals.at(-1)
  if (last === undefined) return 'nothing reached a provider'
  if (arrivals.some(({ failedByItself }) => failedByItself)) return 'the provider failed'
  if (reply.silentMs >= IDLE_MS && last.body.stream === true) return 'the provider was silent'
  if (reply.usage === 'never') return 'usage is never reported'
  const { onDisconnect } = world.modelOf(plan).routes.find(({ provider }) => provider === last.provider)!
  if (caller.hasLeft && onDisconnect === 'abort' && plan.idempotencyKey === undefined) return 'abort'
  if (!caller.hasLeft && plan.leaving !== 'never-reads' && (caller.status ?? 0) >= 400) return 'an HTTP error'
  if (reply.overruns && isBounded(world.scenario, plan.account) && last.ended === 'hung-up')
    return 'cut off at the hold'
  return undefined
}

/** Only a key that its provider knows pays for anything. */
function isOnOwnKey({ arrivals, plan }: MadeCall): boolean {
  return plan.ownKey?.key === OWN_KEY && arrivals.every(({ credential }) => credential === OWN_KEY)
}

function checkArrivals(world: World, call: MadeCall, violate: Violate): void {
  const { arrivals, caller, plan } = call
  const model = world.modelOf(plan)
  const { maxOutputTokens, prices, supportedParameters = [] } = model.catalogue
  for (const arrival of arrivals) {
    const { body, text } = arrival
    const listing = {
      named: supportedParameters,
      pricesCacheWrites: prices.cacheWrite !== undefined || plan.ownKey !== undefined,
    }
    const unlisted =
      arrival.api === 'embeddings'
        ? unlistedInEmbeddings(body, listing)
        : model.language === 'anthropic'
          ? unlistedInAnthropic(body, listing, arrival.api === 'count')
          : unlistedIn(body, listing)
    for (const where of unlisted) violate('unlisted-field', where)
    for (const extra of arrival.bill?.extras ?? []) violate('billed-extra', extra)
    if (saysTwice(text)) violate('said-twice', text.slice(0, 300))
    for (const name of ['max_tokens', 'max_completion_tokens']) {
      const bound = body[name]
      if (typeof bound === 'number' && maxOutputTokens !== undefined && bound > maxOutputTokens) {
        violate('bound-above-list', `${name} ${bound} of at most ${maxOutputTokens}`)
      }
    }
    checkKeys(world, call, arrival, violate)
    const isPatient = body.stream !== true && plan.leaving === 'stays'
    if (isPatient && arrival.ended === 'hung-up' && !arrival.failedByItself) {
      violate('hung-up', 'the router aborted a provider that was writing a JSON reply')
    }
  }
  const [first, second] = arrivals
  if (first !== undefined && second !== undefined && first.provider !== second.provider) {
    if (!first.failedByItself && first.status !== 401)
      violate('asked-another', `after ${first.provider} did not fail`)
  }
  const isMisbehaving = MISBEHAVIOURS.includes(plan.reply.kind) && plan.reply.kind !== 'malformed-call'
  const answered = arrivals.find(({ bill, ended }) => bill !== undefined && ended === 'answered')
  if (isMisbehaving && answered !== undefined && answered.body.stream !== true && plan.leaving === 'stays') {
    if (caller.status !== 200) violate('unreadable-refused', `${caller.status} ${errorCode(caller.text)}`)
  }
}

function checkKeys(world: World, { plan }: MadeCall, arrival: Arrival, violate: Violate): void {
  const { credential, hostHeader, provider } = arrival
  if (plan.ownKey === undefined) return
  const route = world.modelOf(plan).routes.find((one) => one.provider === provider)!
  if (route.credential !== 'key')
    violate('free-key', `a caller's key reached ${provider}, which asks for none`)
  if (hostHeader !== undefined) violate('host-credential-sent', `to ${provider}, on a caller's key`)
  if (credential === HOST_KEY) violate('host-credential-sent', `to ${provider}, on a caller's key`)
}

/** Whether an object of the JSON has a name twice. */
function saysTwice(text: string): boolean {
  let kept = 0
  JSON.parse(text, function (this: unknown, _name, value: unknown) {
    if (typeof this === 'object' && !Array.isArray(this)) kept++
    return value
  })
  // The outermost value counts as one in an object of its own.
  return namesIn(text) !== kept - 1
}

function namesIn(text: string): number {
  let names = 0
  for (const [, after] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/gs)) if (after !== undefined) names++
  return names
}

function checkHonesty(world: World, { caller, plan, arrivals }: MadeCall, violate: Violate): void {
  if (!plan.isHonest || plan.leaving !== 'stays' || caller.status === 200) return
  if (arrivals.some(({ failedByItself }) => failedByItself)) return
  if (plan.idempotencyKey !== undefined && (caller.status === 409 || caller.status === 422)) return
  // The world's own count of the limits judges these.
  if (LIMIT_CODES.includes(errorCode(caller.text).split(':')[0]!)) return
  if (plan.api === 'count' && caller.status === 200) return
  const { contextLength, mediaTokens } = world.modelOf(plan).catalogue
  // The cost of an image then has no limit.
  const isUnbounded = contextLength === undefined && mediaTokens === undefined
  if (isBounded(world.scenario, plan.account) && isUnbounded && plan.text.includes('"image_url"')) return
  const refused = arrivals.some(({ status }) => status === 400)
  if (!refused) violate('honest-refused', `${caller.status} ${errorCode(caller.text)}`)
}

const isControl = ({ name }: CallPlan): boolean => name.startsWith('control')

const LEAST_OUTPUT = 256
/** What a router sends if it knows no more of a model. */
const USUAL_OUTPUT = 4_096
/** More than the estimate of any prompt of a control. */
const MOST_PROMPT = 5_000

/** A call without an output limit gets what the model can, if the budget pays for it, and never next to nothing. */
function checkChosenOutput(world: World, { arrivals, plan }: MadeCall, violate: Violate): void {
  const isChosen = isBounded(world.scenario, plan.account) && plan.done.length === 0
  if (!isChosen || !['chat', 'responses'].includes(plan.api) || BOUND.test(plan.text)) return
  const { contextLength = Infinity, maxOutputTokens } = world.modelOf(plan).catalogue
  const room = contextLength - MOST_PROMPT
  for (const { body, provider } of arrivals) {
    const sent = Number(body.max_tokens ?? body.max_completion_tokens ?? Infinity)
    const wanted =
      plan.account === RICH
        ? Math.min(maxOutputTokens ?? USUAL_OUTPUT, room)
        : Math.min(LEAST_OUTPUT, maxOutputTokens ?? LEAST_OUTPUT, room)
    if (sent < wanted) violate('chosen-too-low', `${provider} was asked for ${sent} tokens, not ${wanted}`)
  }
}

const BOUND = /"max_\w*tokens"/

/** Nothing reaches a provider for an account without credit, and nothing is counted for free on the key of a host. */
function checkCredit({ arrivals, plan }: MadeCall, violate: Violate): void {
  if (plan.account === POOR && arrivals.length > 0 && plan.ownKey === undefined) {
    violate('without-credit', `${arrivals[0]!.provider} was asked at ${arrivals[0]!.api}`)
  }
}

const SECRET_CODES = ['insufficient_credits', 'credits_on_hold']

/** An app that may not see the balance gets no figure of it, whatever it asks for. */
function checkSecrecy({ calls }: World, violations: Violation[]): void {
  const texts = new Map<string, string>()
  for (const { caller, plan } of calls) {
    const [code = ''] = errorCode(caller.text).split(':')
    if (plan.account !== APP_USER || !SECRET_CODES.includes(code)) continue
    const shown = JSON.stringify([errorCode(caller.text), namesOf(caller.headers)])
    const before = texts.get(code)
    const violate = (message: string): void => {
      violations.push({ kind: 'balance-shown', call: plan.name, message })
    }
    if (/\d/.test(errorCode(caller.text))) violate(shown)
    else if (before !== undefined && before !== shown) violate(difference(before, shown))
    texts.set(code, before ?? shown)
  }
}

function namesOf(headers: object): readonly string[] {
  return Object.keys(headers).sort()
}

/** The same call, made before, during and after all others, gives the same result each time. */
function checkControls(world: World, violations: Violation[]): void {
  const first = new Map<string, string>()
  for (const call of world.calls) {
    const { plan } = call
    if (!isControl(plan)) continue
    const seen = JSON.stringify({
      status: call.caller.status,
      reply: comparable(call.caller.text),
      sent: call.arrivals.map(({ credential, provider, text }) => ({ provider, credential, text })),
      charged: String(moneyOf(world, call).charged),
      held: String(moneyOf(world, call).held),
    })
    const before = first.get(plan.name)
    if (before === undefined) first.set(plan.name, seen)
    else if (before !== seen && !world.scenario.isFlaky) {
      violations.push({ kind: 'control-changed', call: plan.name, message: difference(before, seen) })
    }
  }
}

function difference(one: string, other: string): string {
  let at = 0
  while (one[at] === other[at]) at++
  const cut = (text: string): string => text.slice(Math.max(0, at - 60), at + 120)
  return `was …${cut(one)}… and is …${cut(other)}…`
}

function checkWhole(world: World, healthBefore: ReturnType<World['health']>, violations: Violation[]): void {
  const violate = (kind: string, message: string): void => {
    violations.push({ kind, call: 'the world', message })
  }
  const { audit, events, router, scenario } = world
  for (const problem of audit.problems) violate('ledger', problem)
  for (const problem of world.limitProblems) violate('limit', problem)
  checkUse(world, violate)
  for (const event of events) {
    if (['fault', 'store-fault', 'charge-failed'].includes(event.type)) {
      violate(
        event.type,
        JSON.stringify(event, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
      )
    }
  }
  if (router.inFlight !== 0) violate('left-over', `${router.inFlight} calls in flight`)
  if (audit.openHolds.size > 0) violate('left-over', `${audit.openHolds.size} open holds`)
  for (const { facts, postings } of audit.settlements.values()) {
    const call = world.calls.find(({ requestId }) => requestId === facts.requestId)
    const payer = postings.find(({ amount }) => amount < 0n)?.account
    if (call === undefined || (payer !== undefined && payer !== call.plan.account)) {
      violate('another-account', `${payer} paid for ${facts.requestId}`)
    }
  }
  if (scenario.isFlaky) return
  for (const { failureRate, routeId, state } of world.health()) {
    const before = healthBefore.find((one) => one.routeId === routeId)
    const isSame = state === (before?.state ?? 'closed') && failureRate <= (before?.failureRate ?? 0)
    if (!isSame) violate('health-changed', `${routeId} is ${state}, its failure rate ${failureRate}`)
  }
}

/** Counts the use of limits in total from what providers were asked, and what was charged. */
function checkUse(world: World, violate: Violate): void {
  for (const [account, limits] of Object.entries(world.scenario.limits)) {
    const calls = world.calls.filter(({ plan }) => plan.account === account)
    // Counts on the caller's own key are asked for as well, and count no request.
    const asked = calls.filter(({ arrivals, plan }) => arrivals.length > 0 && plan.api !== 'count').length
    const charged = calls.reduce((sum, call) => sum + moneyOf(world, call).charged, 0n)
    for (const { amount, id, per, unit } of limits) {
      if (per !== 'total') continue
      if (unit === 'requests' && asked > amount) violate('over-rate', `${id}: ${asked} calls of ${amount}`)
      if (unit === 'credits' && charged > amount) violate('over-budget', `${id}: ${charged} of ${amount}`)
    }
  }
}

function describeMoney({ billed, charged, held }: Money): string {
  const show = (amount: bigint): string => (Number(amount) / 1e9).toString()
  return `billed ${show(billed)}, held ${show(held)}, charged ${show(charged)}`
}
