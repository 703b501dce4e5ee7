import type { Mode, Spelling } from './scenarios.js'
import type { Usage } from './usage.js'

/** A gateway that bills or logs the cost of calls. */
export interface Target {
  readonly name: string
  /** Package and version, as printed. */
  readonly version: string
  /** How it is set up, and where its documentation says so, as printed. */
  readonly settings: readonly string[]
  readonly policy: Policy
  start(upstream: Upstream): Promise<Gateway>
}

/** The scripted provider. */
export interface Upstream {
  /** Ends in `/v1`. */
  readonly baseUrl: string
  readonly port: number
}

/** A running target. A method is absent if the target does not offer it. */
export interface Gateway {
  /** The URL of chat completions. It may change with a restart. */
  readonly url: string
  readonly model: string
  readonly headers: Readonly<Record<string, string>>
  /** The API key of a payer who can pay for everything. Empty if the target has no keys. */
  readonly key: string
  /** The header that makes a repeat safe, if the target documents one. */
  readonly idempotencyHeader?: string
  /** Every charge above zero, oldest first, in billionths. Waits until the calls that ended are recorded. Absent: no costs. */
  readonly charges?: () => Promise<readonly bigint[]>
  /** The amount that must be free for a call to be admitted. Its price if absent. */
  readonly reserve?: (limit: 'credit' | 'monthly cap') => Promise<bigint>
  /** Returns the key of a new payer with this credit, or under this cap for a month, in billionths. */
  readonly openCredit?: (amount: bigint) => Promise<string>
  readonly openCap?: (amount: bigint) => Promise<string>
  /** The most calls at once that its own rate limit lets through, if that cannot be set. */
  readonly callsAtOnce?: number
  /** Waits until its own rate limit is as if nobody had called. */
  readonly untilRested?: () => Promise<void>
  /** Ends the limits that were opened, if they also apply to other keys. */
  readonly liftLimits?: () => Promise<void>
  readonly openKey?: () => Promise<string>
  readonly revoke?: (key: string) => Promise<void>
  /** Kills its process with SIGKILL, and starts it on the same data. */
  readonly killAndRestart?: () => Promise<void>
  stop(): Promise<void>
}

/** The facts about one call on which a policy may depend. */
export interface CallFacts {
  readonly mode: Mode
  readonly ending: 'finished' | 'client left' | 'provider failed' | 'gateway killed'
  /** Whether any output was sent before a client left or a provider failed. */
  readonly hadOutput: boolean
  /** The usage that the provider reported to the gateway. Undefined if it reported none. */
  readonly reported: Usage | undefined
  readonly spelling: Spelling
  /** Whether the provider reports the usage of this call if it is asked. */
  readonly reportsOnRequest: boolean
  /** The usage that the provider bills. */
  readonly billed: Usage
  readonly promptText: string
  /** The output that the provider has sent. */
  readonly sentText: string
}

/** The amount due for a call by the documentation of the target. */
export type Owed =
  | { readonly usage: Usage; readonly because?: string }
  /** The target states no policy for such a call. Its charge is printed, but not counted. */
  | { readonly unstated: true }

/** The stated rules by which a target charges. */
export interface Policy {
  /** The statements in its documentation, and their places. */
  readonly sources: readonly string[]
  owes(call: CallFacts): Owed
  price(usage: Usage): bigint
  /** Set if the target announces that calls at once may exceed a limit. The excess is printed, but not counted. */
  readonly mayExceedLimits?: string
  /** The longest time from a revocation to the first refusal. Undefined if the target states none. */
  readonly revokedWithinMs?: number
  /** The time that a record may wait in memory before it is stored, as the target states. */
  readonly storedWithinMs: number
}

/**
 * The policy of a target that promises to record the cost of every call from the usage that its provider reports, and states
 * nothing for calls without such a report. `spellings` are those of the kind of provider that it is set up with.
 */
export function owesReports(spellings: readonly Spelling[]): Policy['owes'] {
  return ({ billed, ending, reported, reportsOnRequest, spelling }) => {
    if (!spellings.includes(spelling)) return { unstated: true }
    if (reported !== undefined) return { usage: reported }
    return ending === 'finished' && reportsOnRequest ? { usage: billed } : { unstated: true }
  }
}
