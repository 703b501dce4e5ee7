import type { SettleRequest } from '../../src/contracts/ledger.js'
import type { World } from './world.js'

/** Each hold is settled or released, not both. Each settlement is repeated unchanged. */
export function checkLedger(world: World): void {
  for (const { book, name } of world.processes) {
    const asked = new Set<string>()
    for (const { holdId } of book.holds) {
      if (asked.has(holdId)) world.violate(`${name} asked twice for hold ${holdId}`)
      asked.add(holdId)
    }
    const released = new Set(book.releases.map(({ holdId }) => holdId))
    const settled = new Map<string, SettleRequest>()
    for (const request of book.settlements) {
      const { holdId, charge, postings } = request
      if (!asked.has(holdId)) world.violate(`${name} settled ${holdId}, for which it never asked`)
      if (released.has(holdId)) world.violate(`${name} both settled and released ${holdId}`)
      const first = settled.get(holdId)
      if (first !== undefined && first.charge !== charge)
        world.violate(`${name} settled ${holdId} in two ways`)
      settled.set(holdId, request)
      if (charge.base + charge.markup !== charge.cost) world.violate(`${holdId}: base + markup is not cost`)
      const sum = postings.reduce((total, { amount }) => total + amount, 0n)
      if (sum !== 0n) world.violate(`${holdId}: the postings add up to ${sum}`)
      if (postings[0]?.amount !== -charge.cost) world.violate(`${holdId}: the payer is not debited the cost`)
    }
  }
  checkExpiries(world)
  // A charge that is posted after its hold has expired is no longer covered by it.
  const isAnyLate = [...world.ledger.posted.values()].some(({ isLate }) => isLate)
  for (const [account, above] of world.ledger.excess) {
    if (above === 0n || isAnyLate || !world.scenario.neverOverdraw) continue
    world.violate(`${account} was charged ${above} above its holds under neverOverdraw`)
  }
  for (const { request } of world.ledger.posted.values()) checkPostings(world, request)
}

/** Each expired hold is reported to the hosts once, by one process. */
function checkExpiries(world: World): void {
  const told = new Set<string>()
  for (const { events } of world.processes) {
    for (const event of events) {
      if (event.type !== 'hold-expired') continue
      const { holdId } = event.hold
      if (told.has(holdId)) world.violate(`the expiry of ${holdId} is told twice`)
      told.add(holdId)
      if (!world.ledger.holds.has(holdId)) world.violate(`${holdId} expired, but was never taken`)
    }
  }
}

/** Payer, platform and app each get their share, even if two of them are the same account. */
function checkPostings(world: World, { charge, facts, postings }: SettleRequest): void {
  const call = world.callOf(facts.requestId)
  if (call === undefined) return
  const { principal } = world.scenario.callers[call.plan.caller]!
  const { platformAccount } = world.scenario
  const due = new Map<string, bigint>()
  const add = (account: string, amount: bigint): void =>
    void due.set(account, (due.get(account) ?? 0n) + amount)
  add(principal.account, -charge.cost)
  add(platformAccount, charge.base)
  add(
    (principal.kind === 'access-token' ? principal.app.account : undefined) ?? platformAccount,
    charge.markup,
  )
  for (const { account, amount } of postings) add(account, -amount)
  for (const [account, left] of due) {
    if (left !== 0n) world.violate(`${facts.requestId}: ${account} is ${left} short of what is its own`)
  }
}
