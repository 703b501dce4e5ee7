import { checkCharge } from './check-charge.js'
import { checkClaims } from './check-claims.js'
import { checkEvents } from './check-events.js'
import { checkLedger } from './check-ledger.js'
import { type ReadReply, readReply } from './reply.js'
import type { SimCall, World } from './world.js'

/** All conditions that must hold after a run. */
export function checkRun(world: World): void {
  checkLedger(world)
  const replies = new Map<SimCall, ReadReply>()
  for (const call of world.calls) {
    const violate = (what: string): void => world.violate(`${call.plan.id}: ${what}`)
    const reply = readReply(call.client, violate)
    replies.set(call, reply)
    const threw = world.dials.some(
      ({ end, requestId }) => requestId === call.plan.id && end?.how.startsWith('throw'),
    )
    checkEvents(call, reply, threw, violate)
  }
  for (const call of world.calls) checkCharge(world, call, replies.get(call)!)
  checkClaims(world, replies)
}
