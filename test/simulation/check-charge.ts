import type { RequestEnd } from '../../src/contracts/events.js'
import type { SettleRequest } from '../../src/contracts/ledger.js'
import { checkDials } from './check-dials.js'
import { Heard } from './heard.js'
import { choicesOf, type Due, type DueCharge, whatIsDue } from './oracle.js'
import type { ReadReply } from './reply.js'
import type { Dial } from './upstream.js'
import type { SimCall, World } from './world.js'

/** Checks that the charge of a call is the one in the table, and that reply and event agree. */
export function checkCharge(world: World, call: SimCall, reply: ReadReply): void {
  const { plan, process } = call
  const violate = (what: string): void => world.violate(`${plan.id}: ${what}`)
  const dials = world.dials.filter(({ requestId }) => requestId === plan.id)
  const settlement = process.book.settlements.find(({ facts }) => facts.requestId === plan.id)
  checkDials(world, call, dials, violate)
  const last = dials.at(-1)
  if (last === undefined) {
    if (settlement !== undefined) violate('charged, but never dispatched')
    return
  }
  const held = process.book.holds.filter(({ facts }) => facts.requestId === plan.id)
  const hold = held.find(({ holdId }) => holdId === settlement?.holdId) ?? lastGranted(world, held)
  // With the steps that the ledger took.
  const amount = hold && (world.ledger.holds.get(hold.holdId)?.amount ?? hold.amount)
  const due = whatIsDue(world, last, amount ?? 0n, dials[0]!.at)
  if (due.length === 0 && process.alive) {
    violate('the provider was aborted for no reason')
    return
  }
  if (settlement === undefined) {
    if (process.alive && !due.some(({ charged }) => !charged))
      violate(`not charged, due was ${describe(due)}`)
  } else {
    checkAmount(settlement, due, violate)
    const provider = world.scenario.model.priceVersion
    if (settlement.charge.priceVersion !== provider) violate('the price version is not that of the model')
    if (settlement.charge.byok !== last.byok) violate('byok is not what it was')
  }
  checkReply(world, call, settlement, due, reply, last, violate)
}

function checkAmount({ charge }: SettleRequest, due: readonly Due[], violate: (what: string) => void): void {
  const fits = (one: Due): boolean =>
    one.charged &&
    one.cost === charge.cost &&
    one.base === charge.base &&
    one.basis === charge.basis &&
    one.shortfall === (charge.shortfall ?? 0n) &&
    (Object.keys(one.usage) as (keyof DueCharge['usage'])[]).every(
      (field) => one.usage[field] === charge.usage[field],
    )
  if (!due.some(fits))
    violate(
      `charged ${describe([{ charged: true, reply: 'whole', shortfall: 0n, ...charge }])}, due was ${describe(due)}`,
    )
}

function checkReply(
  world: World,
  call: SimCall,
  settlement: SettleRequest | undefined,
  due: readonly Due[],
  reply: ReadReply,
  dial: Dial,
  violate: (what: string) => void,
): void {
  const { book, events } = call.process
  const isShown = reply.kind === 'complete' || reply.kind === 'failed'
  const answer = settlement && book.settled.get(settlement.holdId)
  const end = events.find(
    (event): event is RequestEnd => event.type === 'request-end' && event.requestId === call.plan.id,
  )
  const amounts =
    settlement === undefined
      ? [0n]
      : [settlement.charge.cost, ...(answer === undefined ? [] : [answer.charge.cost])]
  if (isShown && !amounts.includes(reply.cost ?? -1n)) {
    violate(`the wire says ${reply.cost}, the ledger ${amounts.join(' or ')}`)
  }
  if (isShown && settlement !== undefined) checkUsage(settlement, reply, violate)
  if (isShown && reply.base! + reply.markup! !== reply.cost) violate('on the wire base + markup is not cost')
  if (end !== undefined) {
    const shown = end.charge?.cost
    if (settlement === undefined ? shown !== undefined : shown === undefined || !amounts.includes(shown)) {
      violate(`the event says ${shown}, the ledger ${amounts.join(' or ')}`)
    }
    if (isShown && shown !== undefined && shown !== reply.cost)
      violate(`the event says ${shown}, the wire ${reply.cost}`)
  }
  if (reply.kind === 'refused' && settlement !== undefined && end?.replayed !== true) {
    violate(`it was sent ${reply.status} and charged`)
  }
  const posted = settlement && world.ledger.posted.get(settlement.holdId)
  if (settlement !== undefined && posted === undefined && call.process.alive)
    violate('its charge was never posted')
  if (posted !== undefined && !posted.byRival && posted.request.charge.cost !== settlement!.charge.cost) {
    violate('the ledger has another amount')
  }
  if (call.client.left || !call.process.alive) return
  const waitedFrom = settlement && book.settlingAt.get(settlement.holdId)
  const latest = (waitedFrom ?? Infinity) + world.scenario.timeouts.settleWaitMs
  if (call.plan.slow === undefined && call.client.overAt! > latest) violate('its reply waited for the ledger')
  const kinds = {
    whole: 'complete',
    length: 'complete',
    error: settlement === undefined ? 'refused' : 'failed',
  }
  const fits = due.some(
    (one) => kinds[one.reply] === reply.kind || (one.reply === 'error' && reply.kind === 'failed'),
  )
  if (!fits) violate(`it was sent a ${reply.kind} reply, due was ${describe(due)}`)
  if (reply.kind === 'complete') checkText(dial, reply, violate)
  const isCut = due.every((one) => one.reply === 'length')
  if (isCut && ![...reply.finishReasons.values()].includes('length'))
    violate('cut off, but not for its length')
}

/** The counts on the wire are the charged ones. */
function checkUsage({ charge }: SettleRequest, { usage }: ReadReply, violate: (what: string) => void): void {
  const { prompt, completion } = charge.usage
  const isSame =
    usage?.prompt_tokens === prompt &&
    usage.completion_tokens === completion &&
    usage.total_tokens === prompt + completion &&
    usage.is_byok === charge.byok &&
    usage.charge.basis === charge.basis
  if (!isSame)
    violate(`the wire counts ${JSON.stringify(usage)}, charged was ${JSON.stringify(charge.usage)}`)
}

/** A complete reply contains everything that the provider sent. */
function checkText(dial: Dial, reply: ReadReply, violate: (what: string) => void): void {
  const heard = new Heard({ prompt: 0, completion: 0, choice: 0 }, choicesOf(dial))
  for (const { said } of dial.deliveries) for (const word of said) heard.hear(word)
  if (heard.whole) return
  for (const [choice, text] of heard.texts) {
    if (reply.texts.get(choice) !== text)
      violate(`choice ${choice} reads ${reply.texts.get(choice)}, not ${text}`)
  }
}

function lastGranted(world: World, held: readonly { holdId: string; amount: bigint }[]) {
  return held.filter(({ holdId }) => world.ledger.holds.has(holdId)).at(-1)
}

function describe(due: readonly Due[]): string {
  const seen = due.map((one) =>
    one.charged
      ? `${one.cost} (base ${one.base}, ${one.basis}, ${JSON.stringify(one.usage)}, short ${one.shortfall ?? 0n})`
      : 'nothing',
  )
  return seen.join(' or ')
}
