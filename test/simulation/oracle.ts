import type { Principal } from '../../src/contracts/credentials.js'
import type { Usage } from '../../src/protocol/usage.js'
import { Heard, isUnreadable } from './heard.js'
import { type OracleTerms, oracleHold, oraclePrice } from './oracle-price.js'
import type { Dial } from './upstream.js'
import type { SimCall, World } from './world.js'

/** A possible charge for a call: nothing, or exactly this. */
export type Due = { readonly charged: false; readonly reply: Reply } | DueCharge
type Reply = 'whole' | 'length' | 'error'

export interface DueCharge {
  readonly charged: true
  readonly reply: Reply
  readonly usage: Usage
  readonly basis: 'reported' | 'estimated'
  readonly cost: bigint
  readonly base: bigint
  readonly shortfall: bigint
}

type Ending = 'finished' | 'broken' | 'left' | 'stopped' | 'cut'

/**
 * The truth table of docs/charging.md, applied to the provider's events and the client's behaviour. If two
 * things happen at one moment, both matching rows are due.
 */
export function whatIsDue(world: World, dial: Dial, holdAmount: bigint, firstDialAt: number): Due[] {
  const call = world.callOf(dial.requestId)!
  const neverOverdraw = costsAtMostItsHold(world, call)
  const terms = termsOf(world, dial)
  const prompt = promptBytes(call)
  const promptEstimate = Math.floor(prompt / 4)
  const heard = new Heard(boundsOf(world, dial), choicesOf(dial))
  let isCut = false
  for (const { said } of dial.deliveries) {
    let broughtToken = false
    for (const word of said) {
      heard.hear(word)
      broughtToken ||= ('text' in word && word.text !== '') || isUnreadable(word)
    }
    if (heard.failure !== undefined) break
    if (!neverOverdraw || !dial.stream || said.length === 0) continue
    const counted = heard.asEstimated(promptEstimate)
    const isAbove = (usage: Usage): boolean => oraclePrice(usage, terms).cost > holdAmount
    const isByOutput = isAbove(counted) && !isAbove({ ...counted, completion: 0, reasoning: 0 })
    isCut = !heard.isFinished && broughtToken && isByOutput
    if (isCut) break
  }
  const rows = endings(world, call, dial, heard, isCut, firstDialAt)
  return rows.map(({ ending, isDone }) => {
    const { due, reply } = row(ending, isDone, dial, heard)
    if (due === 'nothing') return { charged: false, reply }
    const { usage, basis } =
      due === 'reported'
        ? heard.asReported(promptEstimate)
        : { usage: heard.asEstimated(promptEstimate), basis: 'estimated' as const }
    const full = oraclePrice(usage, terms)
    const isCapped = (neverOverdraw || basis === 'estimated') && full.cost > holdAmount
    return {
      charged: true,
      reply,
      usage,
      basis,
      cost: isCapped ? holdAmount : full.cost,
      base: isCapped && full.base > holdAmount ? holdAmount : full.base,
      shortfall: isCapped && neverOverdraw ? full.cost - holdAmount : 0n,
    }
  })
}

/** The first matching row of the table. */
function row(
  ending: Ending,
  isDone: boolean,
  dial: Dial,
  heard: Heard,
): { due: 'nothing' | 'reported' | 'estimated' | 'partial'; reply: Reply } {
  // In JSON it is left out of the reply.
  if (heard.unreadable && dial.stream) {
    return { due: heard.reported(isDone) ? 'reported' : 'partial', reply: 'error' }
  }
  switch (ending) {
    case 'finished':
      if (heard.endedUnknown) return { due: 'nothing', reply: 'error' }
      if (heard.reported(isDone)) return { due: 'reported', reply: 'whole' }
      if (heard.token) return { due: 'estimated', reply: 'whole' }
      return { due: 'nothing', reply: heard.reason ? 'whole' : 'error' }
    case 'broken':
      // In JSON this is an HTTP error, which is free.
      return {
        due:
          dial.stream && heard.token && heard.reported(isDone) && heard.isComplete ? 'reported' : 'nothing',
        reply: 'error',
      }
    case 'left':
      return { due: heard.token ? 'partial' : 'nothing', reply: 'error' }
    case 'stopped':
      return { due: dial.stream && heard.token ? 'partial' : 'nothing', reply: 'error' }
    case 'cut':
      return { due: 'partial', reply: 'length' }
  }
}

function endings(
  world: World,
  call: SimCall,
  dial: Dial,
  heard: Heard,
  isCut: boolean,
  firstDialAt: number,
): { ending: Ending; isDone: boolean }[] {
  const finishedOr = (ending: Ending): Ending => (heard.isFinished ? 'finished' : ending)
  if (heard.failure === 'error') return [{ ending: 'broken', isDone: false }]
  if (heard.failure === 'garbage') return [{ ending: finishedOr('broken'), isDone: false }]
  if (isCut) return [{ ending: finishedOr('cut'), isDone: false }]
  const found: { ending: Ending; isDone: boolean }[] = []
  if (dial.end !== undefined && !dial.abortedFirst) {
    const { how, reason } = dial.end
    const isDone = how === 'terminated'
    const ending = reason === 'error-frame' ? 'broken' : isDone ? 'finished' : finishedOr('broken')
    found.push({ ending, isDone })
  }
  if (dial.abortedAt !== undefined) {
    for (const ending of whyHungUp(world, call, dial, dial.abortedAt, firstDialAt)) {
      found.push({ ending: finishedOr(ending), isDone: false })
    }
  }
  return found
}

/** Every reason the router had to abort at that moment. */
function whyHungUp(world: World, call: SimCall, dial: Dial, at: number, firstDialAt: number): Ending[] {
  const { timeouts } = world.scenario
  const why: Ending[] = []
  if (at >= firstDialAt + timeouts.totalMs || at >= dial.process.forcedAt) why.push('stopped')
  // A JSON reply may take as long as the call. The rest of it after its first byte may not.
  const from = dial.stream ? dial.at : (dial.deliveries[0]?.at ?? Infinity)
  const lastByte = dial.deliveries.reduce(
    (last, { readAgainAt, at: came }) => Math.max(last, readAgainAt ?? came),
    from,
  )
  const lastToken = dial.deliveries.reduce(
    (last, { readAgainAt, at: came, said }) =>
      holdsToken(said) || (readAgainAt ?? came) > came ? Math.max(last, readAgainAt ?? came) : last,
    from,
  )
  if (at >= lastByte + timeouts.idleMs || at >= lastToken + timeouts.tokenMs) why.push('broken')
  if (mayHangUpFor(call, dial, at)) why.push('left')
  return why
}

/**
 * Whether the router could abort at that moment because its client left: at once, on an abort route, and
 * without a key.
 */
function mayHangUpFor({ client, plan }: SimCall, dial: Dial, at: number): boolean {
  const leftAt = client.leftAt
  if (leftAt === undefined || plan.key !== undefined || dial.route.onDisconnect !== 'abort') return false
  return at === Math.max(leftAt, dial.at)
}

export function endOf(dial: Dial): number {
  return Math.min(dial.end?.at ?? Infinity, dial.abortedAt ?? Infinity)
}

/** All requests that may have read one call's reply. With a key there may be several. */
export function followersOf(world: World, call: SimCall): SimCall[] {
  const { key, caller } = call.plan
  if (key === undefined) return [call]
  return world.calls.filter(
    ({ plan, process }) => plan.key === key && plan.caller === caller && process === call.process,
  )
}

function holdsToken(said: Dial['deliveries'][number]['said']): boolean {
  return said.some(
    (word) =>
      ('text' in word && word.text !== '') ||
      isUnreadable(word) ||
      (word.say === 'whole' && word.choices.some(({ text }) => text !== '')),
  )
}

export function termsOf(
  world: World,
  { byok, requestId, route }: Pick<Dial, 'byok' | 'requestId' | 'route'>,
): OracleTerms {
  const { scenario } = world
  const { principal } = scenario.callers[world.callOf(requestId)!.plan.caller]!
  return {
    prices: route.prices ?? scenario.model.prices!,
    markup: principal.kind === 'access-token' ? principal.app.markup : undefined,
    byokFee: byok ? scenario.byokFee : undefined,
  }
}

/** By the option `neverOverdraw`, or because its caller has a budget. */
function costsAtMostItsHold({ scenario }: World, { plan }: SimCall): boolean {
  const { limits = [] } = scenario.callers[plan.caller]!.principal
  return scenario.neverOverdraw || limits.some(({ unit }) => unit === 'credits')
}

/** The amounts that may be asked for and held before a route is called. */
export interface HoldsDue {
  readonly least: bigint
  /** What the output limit that the provider was sent costs, if the router chose it. */
  readonly sent: bigint
  /** Whether the provider was sent a limit that may be. */
  readonly isInRange: boolean
}

export function holdsDue(world: World, dial: Dial): HoldsDue {
  const call = world.callOf(dial.requestId)!
  const { isChosen, least, most } = outputDue(world, call)
  const of = (output: number): bigint =>
    oracleHold(promptDue(world, call), output * choicesOf(dial), termsOf(world, dial))
  const { max_completion_tokens: newer, max_tokens: older } = dial.request
  const sent = isChosen ? Number(newer ?? older) : least
  if (!(sent >= least && sent <= most)) return { least: of(least), sent: of(most), isInRange: false }
  return { least: of(least), sent: of(sent), isInRange: true }
}

/** The tokens that a call may have, or the fewest. */
export function tokensDue(world: World, call: SimCall): number {
  return promptDue(world, call) + outputDue(world, call).least * (call.plan.body.n ?? 1)
}

/** The output of each choice: that of the client, or the range in which one is chosen. */
function outputDue(
  world: World,
  call: SimCall,
): { readonly least: number; readonly most: number; readonly isChosen: boolean } {
  const { body } = call.plan
  const { charging, model } = world.scenario
  const maximum = model.maxOutputTokens ?? Infinity
  const valid = [body.max_tokens, body.max_completion_tokens].filter(
    (bound): bound is number => typeof bound === 'number' && Number.isSafeInteger(bound) && bound >= 1,
  )
  const fixed = Math.min(valid.length > 0 ? Math.max(...valid) : charging.holdOutputTokens, maximum)
  if (valid.length > 0 || !costsAtMostItsHold(world, call))
    return { least: fixed, most: fixed, isChosen: false }
  const { principal } = world.scenario.callers[call.plan.caller]!
  const { contextLength = Infinity } = model
  const wanted = maximum === Infinity ? charging.holdOutputTokens : maximum
  const least = Math.min(wanted, 256)
  let room = contextLength - promptDue(world, call)
  if (room < wanted) room = contextLength - promptEstimate(world, call)
  const most = Math.max(least, Math.min(wanted, room))
  const { limits: own = [] } = principal
  const hasOwnBudget = own.some(({ of: owner, unit }) => unit === 'credits' && owner !== 'account')
  if (seesBalance(principal) || hasOwnBudget) return { least, most, isChosen: true }
  return { least, most: Math.max(least, Math.min(charging.holdOutputTokens, most)), isChosen: true }
}

/** Whether what this caller gets may depend on the balance. */
export function seesBalance(principal: Principal): boolean {
  return principal.kind === 'api-key' || principal.scopes.includes('credits.read')
}

function promptEstimate({ scenario }: World, call: SimCall): number {
  const { messages } = call.plan.body
  const images = messages.filter(({ content }) => Array.isArray(content)).length
  const mediaTokens = scenario.model.mediaTokens as number | undefined
  return Math.ceil(promptBytes(call) / 3) + 8 * messages.length + (mediaTokens ?? 3_000) * images
}

/**
 * Prompt tokens on hold: the count of the simulated counter, or all that its bytes can be if the call costs
 * at most its hold.
 */
function promptDue(world: World, call: SimCall): number {
  const { scenario } = world
  const { messages } = call.plan.body
  const { contextLength = Infinity } = scenario.model
  const mediaTokens = scenario.model.mediaTokens as number | undefined
  const images = messages.filter(({ content }) => Array.isArray(content)).length
  const bytes = promptBytes(call)
  if (!costsAtMostItsHold(world, call)) return promptEstimate(world, call)
  const media = images === 0 ? 0 : images * (mediaTokens ?? contextLength)
  // Such a message has two parts.
  const parts = 2 * 2 * images
  return Math.min(bytes + 16 * messages.length + 200 + media + parts, contextLength)
}

/** A count above these is invalid, whatever the catalogue lists. */
function boundsOf(world: World, dial: Dial) {
  return {
    prompt: 10_000_000,
    completion: 10_000_000 * choicesOf(dial),
    choice: world.scenario.model.maxOutputTokens ?? Infinity,
  }
}

export function choicesOf({ request }: Dial): number {
  return typeof request.n === 'number' ? request.n : 1
}

function promptBytes(call: SimCall): number {
  let bytes = 0
  for (const { content } of call.plan.body.messages) {
    const parts = Array.isArray(content) ? (content as { text?: string }[]) : [{ text: content as string }]
    for (const { text } of parts) bytes += Buffer.byteLength(text ?? '')
  }
  return bytes
}
