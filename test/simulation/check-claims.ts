import type { SettleRequest } from '../../src/contracts/ledger.js'
import type { ChatBody } from './call-plan.js'
import type { ReadReply } from './reply.js'
import type { Posted } from './shared-ledger.js'
import type { SimCall, World } from './world.js'

/**
 * At most one charge for each key of a client, whatever the claims say, and every answer under it is the
 * same.
 */
export function checkClaims(world: World, replies: ReadonlyMap<SimCall, ReadReply>): void {
  const byKey = new Map<string, { charged: SettleRequest[]; lostClaims: number }>()
  for (const posted of world.ledger.posted.values()) {
    const { request, claimLost } = posted
    const { caller, key } = world.callOf(request.facts.requestId)?.plan ?? {}
    if (key === undefined) continue
    const scope = `${key} of caller ${caller}`
    const known = byKey.get(scope) ?? { charged: [], lostClaims: 0 }
    byKey.set(scope, known)
    if (claimLost) {
      known.lostClaims++
      checkLostClaim(world, posted)
    } else known.charged.push(request)
  }
  for (const [scope, { charged, lostClaims }] of byKey) {
    if (charged.length > 1) world.violate(`${scope} was charged ${charged.length} times`)
    const lead = world.callOf(charged[0]?.facts.requestId ?? '')
    if (lead !== undefined && lostClaims === 0) checkReplays(world, lead, charged[0]!, replies)
  }
}

/** Only a hold that has expired can lose its claim, and the host gets an event. */
function checkLostClaim(world: World, { isLate, request: { facts, holdId } }: Posted): void {
  const { faults, outage } = world.scenario
  if (!isLate) world.violate(`${holdId} lost its claim`)
  const { alive, events } = world.callOf(facts.requestId)!.process
  const isTold = events.some((event) => event.type === 'claim-lost' && event.holdId === holdId)
  // A lost answer reached nobody, and a repeat does not know about it.
  const isHeard = alive && faults.ledger === 0 && faults.rivals === 0 && outage === undefined
  if (isHeard && !isTold) world.violate(`${holdId} lost its claim in silence`)
}

function checkReplays(
  world: World,
  lead: SimCall,
  { charge, facts, holdId }: SettleRequest,
  replies: ReadonlyMap<SimCall, ReadReply>,
): void {
  const { book } = lead.process
  const asked = book.settlements.find((request) => request.holdId === holdId)
  const amounts = [charge, book.settled.get(holdId)?.charge, asked?.charge].flatMap((one) => one?.cost ?? [])
  const { key, caller, body } = lead.plan
  let whole: string | undefined
  for (const call of world.calls) {
    if (call.plan.key !== key || call.plan.caller !== caller) continue
    const reply = replies.get(call)!
    const violate = (what: string): void => world.violate(`${call.plan.id}: ${what}`)
    const sent = call.client.body ?? call.client.text
    const isLeads = sent.includes(`"${facts.completionId}"`)
    if (isLeads && meaningOf(call.plan.body) !== meaningOf(body)) violate('it got the reply to another body')
    if (reply.kind === 'refused') checkRefusal(world, lead, call, reply, amounts, violate)
    if (reply.kind !== 'complete') continue
    if (!isLeads) {
      // A call under the same key ran before or after, free of charge.
      if (reply.cost !== 0n && world.scenario.leap === undefined)
        violate(`a reply under the key shows ${reply.cost}, charged was ${amounts[0]}`)
      continue
    }
    if (!amounts.includes(reply.cost!)) violate(`a repeat shows ${reply.cost}, charged was ${amounts[0]}`)
    whole ??= sent
    if (sent !== whole) violate('a repeat got another reply')
    const isReplay = call !== lead
    const saysSo = call.client.headers['idempotent-replayed'] === 'true'
    if (isReplay !== saysSo) violate('idempotent-replayed is wrong')
  }
}

/** A repeat of a charged call learns of the charge, and does not get a failure. */
function checkRefusal(
  world: World,
  lead: SimCall,
  call: SimCall,
  { code, cost }: ReadReply,
  amounts: readonly bigint[],
  violate: (what: string) => void,
): void {
  if (code === 'idempotency_completed' && !amounts.includes(cost ?? -1n)) {
    violate(`409 shows ${cost}, charged was ${amounts[0]}`)
  }
  if (call === lead || call.process !== lead.process || !code?.startsWith('provider_')) return
  // By their holds. A call whose client had left is abandoned before a provider is called, and its followers
  // get that failure.
  const ran = call.process.book.holds.filter(({ facts }) => {
    const { plan, doneAt = Infinity, startedAt } = world.callOf(facts.requestId)!
    const overlaps = doneAt >= call.startedAt && startedAt <= (call.doneAt ?? Infinity)
    return overlaps && plan.key === call.plan.key && plan.caller === call.plan.caller
  })
  const refusedBeforehand = code === 'provider_registry_unavailable' || code === 'provider_not_enabled'
  if (ran.length > 0 && ran.every(({ facts }) => facts.requestId === lead.plan.id) && !refusedBeforehand) {
    violate(`it was told ${code} of a call that was charged`)
  }
}

/** A null field, and a limit of -1, count as absent. */
function meaningOf(body: ChatBody): string {
  return JSON.stringify(body, (_, value) => (value === null || value === -1 ? undefined : value))
}
