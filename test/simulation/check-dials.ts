import { Heard } from './heard.js'
import { choicesOf, endOf, holdsDue } from './oracle.js'
import type { Dial } from './upstream.js'
import type { SimCall, World } from './world.js'

/** Routes are tried one after another, each on a hold that covers it, and only before the first output. */
export function checkDials(
  world: World,
  call: SimCall,
  dials: readonly Dial[],
  violate: (what: string) => void,
): void {
  const { routing, timeouts, routes } = world.scenario
  if (dials.length > routing.attempts)
    violate(`${dials.length} routes were tried, ${routing.attempts} may be`)
  for (const [position, dial] of dials.entries()) {
    const covering = call.process.book.holds.filter(
      ({ facts, holdId }) => facts.requestId === dial.requestId && world.ledger.holds.has(holdId),
    )
    const { isInRange, least, sent } = holdsDue(world, dial)
    if (!isInRange) violate(`${dial.route.id} was sent a limit that cannot be chosen`)
    const heldBy = (holdId: string): bigint => world.ledger.holds.get(holdId)!.amount
    if (!covering.some(({ holdId }) => heldBy(holdId) >= sent))
      violate(`${dial.route.id} was dialled without ${sent} on hold`)
    for (const { amount, facts, holdId, steps } of covering) {
      if (facts.routeId !== dial.route.id) continue
      // A hold that is taken again has what was held before.
      const isAgain =
        steps === undefined && covering.some((one) => one.holdId !== holdId && heldBy(one.holdId) === amount)
      if (amount !== least && !isAgain) violate(`${amount} on hold, ${least} are due`)
      // A step costs less than a billionth more than its tokens.
      const most = steps === undefined ? least : least + steps.amount * BigInt(steps.most)
      if (!isAgain && heldBy(holdId) > most) violate(`${heldBy(holdId)} on hold, at most ${most} may be`)
    }
    if (endOf(dial) > dials[0]!.at + timeouts.totalMs && call.process.alive)
      violate('it outlived its total deadline')
    if (endOf(dial) === Infinity && call.process.alive) violate(`${dial.route.id} is still being read`)
    if (position === dials.length - 1) continue
    const heard = new Heard({ prompt: 0, completion: 0, choice: 0 }, choicesOf(dial))
    for (const { said } of dial.deliveries) for (const word of said) heard.hear(word)
    if (heard.token) violate('another route was tried after the first token')
    // The provider may be working on the call, and bill it.
    const hungUpOn = dial.abortedFirst && heard.failure === undefined && !heard.isFinished
    const timedOut = hungUpOn || dial.end?.reason === 'answer-timeout'
    if (timedOut) violate('another route was tried after one that did not answer in time')
  }
  if (new Set(dials.map(({ route }) => route.id)).size !== dials.length) violate('a route was dialled twice')
  if (dials.some(({ route }) => !routes.includes(route))) violate('an unknown route was dialled')
  checkLeaving(call, dials.at(-1), violate)
}

/** A route with onDisconnect 'abort' is aborted at the moment the client leaves. */
function checkLeaving(call: SimCall, dial: Dial | undefined, violate: (what: string) => void): void {
  const { leftAt } = call.client
  if (dial === undefined || leftAt === undefined || call.plan.key !== undefined || !call.process.alive) return
  if (dial.route.onDisconnect !== 'abort' || leftAt <= dial.at || endOf(dial) <= leftAt) return
  const heard = new Heard({ prompt: 0, completion: 0, choice: 0 }, choicesOf(dial))
  for (const { at, said } of dial.deliveries) if (at <= leftAt) for (const word of said) heard.hear(word)
  if (heard.isFinished) return
  if (dial.abortedAt !== leftAt) {
    violate(`its client left at ${leftAt}, the provider was hung up on at ${dial.abortedAt}`)
  }
  const isTold = call.process.events.some(
    (event) => event.type === 'call-abandoned' && event.requestId === call.plan.id,
  )
  if (isTold === heard.token) violate(`call-abandoned: ${isTold}, a token: ${heard.token}`)
}
