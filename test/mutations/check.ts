import type { Observed } from './bench.js'
import { costOf, type FinalCounts } from './counts.js'
import type { Expected, ToolCall } from './hearing.js'
import { type Reply, readBody, readStream } from './reply.js'

/** A broken promise, and how. */
export interface Violation {
  readonly promise:
    | 'lost-text'
    | 'lost-call'
    | 'good-reply-failed'
    | 'bad-reply-passed'
    | 'wrong-end'
    | 'wrong-charge'
    | 'unreadable-for-clients'
    | 'assembled-otherwise'
    | 'fault'
  readonly message: string
}

/** Compares a reply and its charge with what the oracle expects. */
export function check(expected: Expected, observed: Observed, stream: boolean): Violation[] {
  const found: Violation[] = []
  const say = (promise: Violation['promise'], message: string): void => void found.push({ promise, message })
  let reply: Reply
  try {
    if (!observed.isWhole) throw new Error('The reply broke off.')
    reply =
      stream && observed.status === 200
        ? readStream(observed.bytes)
        : readBody(observed.bytes, observed.status)
  } catch (error) {
    say('unreadable-for-clients', `${(error as Error).message} ${observed.bytes.slice(-600)}`)
    return found
  }
  const outcome = observed.status !== 200 ? 'refused' : reply.error === undefined ? 'whole' : 'broken'
  const isEarly = outcome === 'refused' && isNothingSent(expected)
  if (outcome !== expected.outcome && !isEarly) {
    const promise = outcome === 'whole' ? 'bad-reply-passed' : 'good-reply-failed'
    const why = observed.end.routing?.attempts[0]?.why ?? ''
    say(promise, `${expected.outcome} was expected, it was ${outcome}: ${reply.error?.message ?? ''} ${why}`)
  } else if (!isEarly) {
    for (const name of ['text', 'reasoning', 'refusal'] as const) {
      if (reply[name] === expected[name] || expected.unsure.has(name as 'reasoning')) continue
      say('lost-text', `${name} is ${JSON.stringify(reply[name])}, not ${JSON.stringify(expected[name])}`)
    }
    if (outcome === 'whole') checkEnd(expected, reply, say)
  }
  checkCharge(expected, observed, reply, say)
  return found
}

/** Whether a stream may break off before anything of it is sent: the name of a call is held back while it may grow. */
function isNothingSent({ charge, outcome, reasoning, refusal, text }: Expected): boolean {
  return outcome === 'broken' && charge.due === 'nothing' && text + reasoning + refusal === ''
}

type Say = (promise: Violation['promise'], message: string) => void

function checkEnd(expected: Expected, reply: Reply, say: Say): void {
  if (!expected.unsure.has('calls')) {
    if (!isSameCalls(reply.calls, expected.calls)) {
      say('lost-call', `the calls are ${JSON.stringify(reply.calls)}, not ${JSON.stringify(expected.calls)}`)
    }
    if (reply.finish !== expected.finish)
      say('wrong-end', `it ends with ${reply.finish}, not ${expected.finish}`)
  }
  if (reply.native !== expected.native)
    say('wrong-end', `its own word is ${reply.native}, not ${expected.native}`)
}

function isSameCalls(one: readonly ToolCall[], other: readonly ToolCall[]): boolean {
  const sorted = (calls: readonly ToolCall[]): string =>
    JSON.stringify(calls.map((call) => [call.name, call.arguments.trim()]).sort())
  return sorted(one) === sorted(other)
}

function checkCharge({ charge }: Expected, { end }: Observed, { usage }: Reply, say: Say): void {
  const charged = end.charge?.cost ?? 0n
  const { counts, due } = charge
  const most = due === 'nothing' ? 0n : costOf(counts)
  const least =
    due === 'nothing' ? 0n : costOf({ ...counts, completion: charge.completionFrom, reasoning: 0 })
  const isRange = charge.completionFrom < counts.completion
  if (charged > most || charged < (isRange ? least : most)) {
    const given = usage === undefined ? '' : `, from ${JSON.stringify(usage)}`
    say('wrong-charge', `${charged} was charged, ${most} is due (${due}, ${shown(counts)})${given}`)
  }
  if (usage === undefined) return
  const told = BigInt(Math.round(Number(usage.cost) * 1e9))
  if (told !== charged) say('wrong-charge', `the client was told ${told}, and ${charged} was charged`)
  const { charge: details } = usage as { charge?: { basis?: string } }
  if (charged > 0n && details?.basis !== counts.basis) {
    say('wrong-charge', `the basis is ${details?.basis}, not ${counts.basis}`)
  }
}

function shown({ cached, cacheWrite, completion, prompt, reasoning }: FinalCounts): string {
  return `prompt ${prompt}, cached ${cached}, written ${cacheWrite}, completion ${completion}, reasoning ${reasoning}`
}
