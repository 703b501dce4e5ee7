import { setTimeout as sleep } from 'node:timers/promises'
import type { ChatClient } from '../helpers/chat-client.js'
import { createDeferred } from '../helpers/deferred.js'
import { ends, FULL_USAGE, post, type Setting, within } from './play-call.js'
import { type BookedProvider, PROMPT } from './provider.js'
import type { CrowdScenario, KillScenario, ReplyPlan, RevocationScenario } from './scenarios.js'
import { compareCharges, type Outcome } from './score.js'
import type { Gateway } from './target.js'
import { NOTHING } from './usage.js'

const WHOLE: ReplyPlan = { usage: 'asked', spelling: 'openai', cached: 0, ending: 'whole' }
/** After this time without an arrival or an answer, the provider answers, because the gateway seems to queue its calls. */
const QUIET_MS = 3_000
/** How long a call of a crowd may take. Its client leaves then. */
const CROWD_PATIENCE_MS = 120_000
const ROUNDS_AT_MOST = 50
const BETWEEN_CALLS_MS = 20
const FIRST_TOKEN_MS = 1_000

/**
 * Sends all calls at once, and again those that were refused with 429, until a round serves none. The provider answers no
 * call of a round before each has reached it or was refused: models take seconds, so all of them are in flight together.
 */
export async function playCrowd(
  scenario: CrowdScenario,
  { charges, gateway, policy, provider }: Setting,
): Promise<Outcome> {
  const { limit, name } = scenario
  const { calls, fits } = sizeFor(gateway, scenario)
  const open = limit === 'credit' ? gateway.openCredit : gateway.openCap
  if (charges === undefined) return { scenario: name, missing: 'it has no costs' }
  if (open === undefined) return { scenario: name, missing: `it has no ${limit} that refuses calls` }
  const each = policy.price(FULL_USAGE)
  provider.follow(WHOLE)
  const reserve = (await gateway.reserve?.(limit)) ?? each
  await charges.next()
  let last = each
  if (reserve > last) last = reserve
  const amount = each * BigInt(fits - 1) + last
  const key = await open(amount)
  await gateway.untilRested?.()
  let served = 0
  let pending = calls
  const statuses = new Map<number, number>()
  for (let round = 0; round < ROUNDS_AT_MOST && pending > 0; round++) {
    const ended = await playRound(pending, gateway, key, provider)
    const servedNow = ended.filter(isServed).length
    for (const client of ended) {
      const status = client.status ?? 0
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    served += servedNow
    pending = servedNow === 0 ? 0 : ended.filter(({ status }) => status === 429).length
  }
  await gateway.liftLimits?.()
  const excess = each * BigInt(served) - amount
  const overshoot = excess > 0n ? excess : 0n
  const isStated = policy.mayExceedLimits !== undefined && overshoot > 0n
  const notes = [`served ${served} calls of ${calls} for ${fits}`, `statuses ${describe(statuses)}`]
  if (isStated) notes.push(`it announces this: ${policy.mayExceedLimits}`)
  return {
    scenario: name,
    mode: 'JSON',
    billed: each * BigInt(served),
    ...compareCharges(await charges.next(), each * BigInt(served), served),
    overshoot: isStated ? 0n : overshoot,
    falseRefusals: Math.max(0, fits - served),
    note: notes.join('; '),
  }
}

/** Fewer calls in the same proportion, if the target would refuse some of them whatever they cost. */
function sizeFor({ callsAtOnce }: Gateway, { calls, fits }: CrowdScenario): { calls: number; fits: number } {
  if (callsAtOnce === undefined || callsAtOnce >= calls) return { calls, fits }
  return { calls: callsAtOnce, fits: Math.floor((fits * callsAtOnce) / calls) }
}

async function playRound(
  calls: number,
  gateway: Gateway,
  key: string,
  provider: BookedProvider,
): Promise<readonly ChatClient[]> {
  const released = createDeferred()
  let decided = 0
  let quiet: NodeJS.Timeout | undefined
  const decide = (): void => {
    decided++
    clearTimeout(quiet)
    if (decided >= calls) released.resolve()
    else quiet = setTimeout(() => released.resolve(), QUIET_MS)
  }
  provider.follow(WHOLE, async () => {
    decide()
    await released.promise
  })
  const clients = Array.from({ length: calls }, () => post(gateway, { mode: 'JSON', key }))
  await Promise.all(
    clients.map(async (client) => {
      await within(client.over, CROWD_PATIENCE_MS)
      client.leave()
      if (!isServed(client)) decide()
    }),
  )
  clearTimeout(quiet)
  return clients
}

function isServed({ complete, status }: ChatClient): boolean {
  return status === 200 && complete
}

function describe(counts: ReadonlyMap<number, number>): string {
  return [...counts].map(([status, count]) => `${status} x ${count}`).join(', ')
}

/** Calls one after the other with a key that is revoked after the first call, until it is refused. */
export async function playRevocation(
  { name, patienceMs }: RevocationScenario,
  { charges, gateway, policy, provider }: Setting,
): Promise<Outcome> {
  const { openKey, revoke } = gateway
  if (charges === undefined) return { scenario: name, missing: 'it has no costs' }
  if (openKey === undefined || revoke === undefined) {
    return { scenario: name, missing: 'it has no keys that can be revoked' }
  }
  const key = await openKey()
  await gateway.untilRested?.()
  provider.follow(WHOLE)
  const call = async (): Promise<'served' | 'refused' | 'rate limited'> => {
    const client = post(gateway, { mode: 'JSON', key })
    await ends(client)
    if (isServed(client)) return 'served'
    return client.status === 429 ? 'rate limited' : 'refused'
  }
  const falseRefusals = (await call()) === 'served' ? 0 : 1
  await revoke(key)
  const revokedAt = performance.now()
  let served = 1 - falseRefusals
  let late = 0
  let elapsed = 0
  let isRefused = false
  while (!isRefused && elapsed < patienceMs) {
    const startedAfter = performance.now() - revokedAt
    const answer = await call()
    elapsed = performance.now() - revokedAt
    isRefused = answer === 'refused'
    if (answer === 'served') served++
    if (answer === 'served' && policy.revokedWithinMs !== undefined && startedAfter > policy.revokedWithinMs)
      late++
    await sleep(BETWEEN_CALLS_MS)
  }
  const each = policy.price(FULL_USAGE)
  const seconds = (elapsed / 1_000).toFixed(1)
  const stated =
    policy.revokedWithinMs === undefined ? 'states no time' : `states ${policy.revokedWithinMs / 1_000} s`
  return {
    scenario: name,
    mode: 'JSON',
    billed: each * BigInt(served),
    ...compareCharges(await charges.next(), each * BigInt(served), served),
    overshoot: each * BigInt(late),
    falseRefusals,
    note: `${isRefused ? `refused after ${seconds} s` : `not refused in ${seconds} s`}; the target ${stated}`,
  }
}

/** Kills the gateway after some answers, while streams are in flight, and compares its records after a restart. */
export async function playKill(
  { answered, inFlight, name }: KillScenario,
  { charges, gateway, policy, provider }: Setting,
): Promise<Outcome> {
  const { killAndRestart } = gateway
  if (charges === undefined) return { scenario: name, missing: 'it has no costs' }
  if (killAndRestart === undefined) return { scenario: name, missing: 'it keeps nothing across a restart' }
  await gateway.untilRested?.()
  provider.follow(WHOLE)
  const answers = Array.from({ length: answered }, () => post(gateway, { mode: 'stream' }))
  await Promise.all(answers.map(ends))
  const served = answers.filter(isServed).length
  await sleep(policy.storedWithinMs)
  provider.follow(WHOLE, async (point, gatewayLeft) => {
    if (point === 'early') await gatewayLeft
  })
  const streams = Array.from({ length: inFlight }, () => post(gateway, { mode: 'stream' }))
  await Promise.all(streams.map((stream) => within(stream.receives('one '), FIRST_TOKEN_MS)))
  await killAndRestart()
  await Promise.all(streams.map(ends))
  const made = await charges.next()
  const each = policy.price(FULL_USAGE)
  const owed = policy.owes({
    mode: 'stream',
    ending: 'gateway killed',
    hadOutput: true,
    reported: undefined,
    spelling: 'openai',
    reportsOnRequest: true,
    billed: FULL_USAGE,
    promptText: PROMPT,
    sentText: '',
  })
  const isUnstated = 'unstated' in owed
  const dueInFlight = isUnstated ? 0n : policy.price(owed.usage ?? NOTHING) * BigInt(inFlight)
  // Charges of calls in flight are not counted if the target states no policy for them.
  const counted = isUnstated ? made.filter((charge) => charge === each).slice(0, served) : made
  return {
    scenario: name,
    mode: 'stream',
    billed: each * BigInt(served),
    ...compareCharges(
      counted,
      each * BigInt(served) + dueInFlight,
      dueInFlight === 0n ? served : served + inFlight,
    ),
    overshoot: 0n,
    falseRefusals: answered - served,
    note: isUnstated ? `cost of calls in flight: not stated by the target` : (owed.because ?? ''),
  }
}
