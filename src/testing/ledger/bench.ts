import { strict as assert } from 'node:assert'
import { MEDIA_UNITS } from '../../base/units.js'
import type {
  Awaitable,
  CallContext,
  CallFacts,
  Charge,
  Credits,
  HoldLimit,
  HoldRequest,
  HoldResult,
  HoldSteps,
  SettleRequest,
  SettleResult,
} from '../../contracts/index.js'
import {
  asOpened,
  type CaseNeed,
  type ConformanceCase,
  createContext,
  createIds,
  type Opened,
  until,
} from '../base/case.js'
import { type LedgerUnderTest, withAnswersChecked } from './answers.js'

/** Opens your ledger for the cases. */
export interface LedgerHarness {
  /** Opens a ledger that nothing else uses, with these accounts and balances (decimal strings) and no others. */
  open(accounts: Readonly<Record<string, string>>): Awaitable<LedgerUnderTest | Opened<LedgerUnderTest>>
}

export type LedgerCase = ConformanceCase<LedgerHarness>

/** A ledger and shortcuts to call it. Holds have short names, and `alice` pays. */
export interface LedgerBench {
  readonly store: LedgerUnderTest
  readonly context: CallContext
  readonly holdId: (name: string) => string
  readonly claimId: (name: string) => string
  hold(name: string, amount: Credits, more?: HoldFields): Promise<HoldResult>
  settle(name: string, cost: Credits, more?: SettleFields): Promise<SettleResult>
  release(name: string): Promise<{ readonly state: 'released' | 'settled' }>
  /** Makes short holds and waits until they have expired, without a call of `expireHolds`. */
  holdAndLapse(
    names: string | readonly string[],
    amount: Credits,
    more?: Omit<HoldFields, 'replaces' | 'ttlMs'>,
  ): Promise<void>
  /** Returns `[posted, held, available]` of an account, zeros if it does not exist. */
  balance(account?: string): Promise<[posted: Credits, held: Credits, available: Credits]>
}

/** `claim` and `replaces` are short names, as for holds. */
export interface HoldFields {
  readonly account?: string
  readonly claim?: string
  readonly replaces?: string
  readonly ttlMs?: number
  readonly facts?: Partial<CallFacts>
  readonly limits?: readonly HoldLimit[]
  readonly steps?: HoldSteps
  readonly beforeBalance?: number
}

/** `base` is the whole cost by default. The account `app` earns the rest. */
export interface SettleFields extends Partial<Omit<SettleRequest, 'holdId' | 'charge' | 'facts'>> {
  readonly base?: Credits
  readonly account?: string
  readonly facts?: Partial<CallFacts>
  readonly charge?: Partial<Charge>
}

const LONG_MS = 600_000
const SHORT_MS = 40

/** Creates a case on a fresh ledger with `accounts`, by default `alice` with 100 nanocredits. */
export function ledgerCase(
  id: string,
  name: string,
  check: (bench: LedgerBench) => Promise<void>,
  { accounts = { alice: '0.0000001' }, needs = [] }: LedgerCaseOptions = {},
): LedgerCase {
  return {
    id,
    name,
    needs,
    async run(harness) {
      const opened = asOpened<LedgerUnderTest, Opened<LedgerUnderTest>>(await harness.open(accounts), 'hold')
      try {
        await check(createBench(opened, id))
      } finally {
        await opened.close?.()
      }
    },
  }
}

interface LedgerCaseOptions {
  readonly accounts?: Readonly<Record<string, string>>
  readonly needs?: readonly CaseNeed[]
}

export function factsOf(account: string, more: Partial<CallFacts> = {}): CallFacts {
  return { requestId: 'request-1', account, credentialId: 'credential-1', model: 'acme/fast', ...more }
}

/** Creates a charge of `cost`. All but `base` is markup. */
export function chargeOf(cost: Credits, base: Credits = cost, more: Partial<Charge> = {}): Charge {
  const usage = { prompt: 11, cached: 3, cacheWrite: 2, completion: 7, reasoning: 5 }
  return {
    cost,
    base,
    markup: cost - base,
    basis: 'reported',
    byok: false,
    usage,
    priceVersion: 'v1',
    ...more,
  }
}

function createBench(opened: Opened<LedgerUnderTest>, seed: string): LedgerBench {
  const store = withAnswersChecked(opened.store)
  const context = createContext()
  const holdId = createIds(`${seed}:hold`)
  const claimHalf = createIds(`${seed}:claim`)
  const claimId = (name: string): string => claimHalf(name) + claimHalf(`${name}:rest`)

  function request(name: string, amount: Credits, { account = 'alice', ...more }: HoldFields): HoldRequest {
    return {
      holdId: holdId(name),
      account,
      amount,
      ttlMs: more.ttlMs ?? LONG_MS,
      facts: factsOf(account, more.facts),
      ...(more.claim !== undefined && { claim: claimId(more.claim) }),
      ...(more.replaces !== undefined && { replaces: holdId(more.replaces) }),
      ...(more.limits !== undefined && { limits: more.limits }),
      ...(more.steps !== undefined && { steps: more.steps }),
      ...(more.beforeBalance !== undefined && { beforeBalance: more.beforeBalance }),
    }
  }

  async function balance(account = 'alice'): Promise<[Credits, Credits, Credits]> {
    const found = await store.balance(account, context)
    return found === undefined ? [0n, 0n, 0n] : [found.posted, found.held, found.available]
  }

  return {
    store,
    context,
    holdId,
    claimId,
    balance,
    hold: async (name, amount, more = {}) => store.hold(request(name, amount, more), context),
    async settle(name, cost, { base = cost, account = 'alice', facts, charge, claim, ...more } = {}) {
      const made = chargeOf(cost, base, charge)
      const settlement = {
        holdId: holdId(name),
        charge: made,
        facts: factsOf(account, facts),
        postings: [
          { account, amount: -made.cost },
          { account: 'platform', amount: made.base },
          { account: 'app', amount: made.markup },
        ],
        ...(claim !== undefined && { claim: claimId(claim) }),
        ...more,
      }
      return store.settle(settlement, context)
    },
    release: async (name) => store.release({ holdId: holdId(name), account: 'alice' }, context),
    async holdAndLapse(names, amount, more = {}) {
      const [, heldBefore] = await balance(more.account)
      for (const name of [names].flat()) {
        assertGranted(await store.hold(request(name, amount, { ...more, ttlMs: SHORT_MS }), context))
      }
      if (opened.advance !== undefined) await opened.advance(SHORT_MS + 1)
      else await until(async () => (await balance(more.account))[1] <= heldBefore)
      const [, heldAfter] = await balance(more.account)
      assert.equal(heldAfter, heldBefore, 'an expired hold must no longer count')
    },
  }
}

/** Asserts the reason of a refused hold, but not its numbers. */
export function assertRefused(result: HoldResult, reason: Exclude<HoldResult, { ok: true }>['reason']): void {
  assert.equal(result.ok ? 'granted' : result.reason, reason)
}

export function assertGranted(result: HoldResult): void {
  assert.equal(result.ok ? 'granted' : result.reason, 'granted')
}

/** Asserts a refusal for lack of credit, with these numbers. */
export function assertInsufficient(result: HoldResult, posted: Credits, available: Credits): void {
  assertRefused(result, 'insufficient')
  if (result.ok || result.reason !== 'insufficient') return
  assert.deepEqual([result.posted, result.available], [posted, available], '[posted, available]')
}

/** Asserts a refusal because the claim is taken. `charge` is that of the settled holder, undefined while it is open. */
export function assertClaimed(result: HoldResult, charge?: Charge): void {
  assertRefused(result, 'claimed')
  if (!result.ok && result.reason === 'claimed') assertCharge(result.charge, charge)
}

export function assertCharge(actual: Charge | undefined, expected: Charge | undefined): void {
  assert.deepEqual(actual && plainCharge(actual), expected && plainCharge(expected))
}

/** Asserts that this call posted this charge. */
export function assertPosted(result: SettleResult, charge: Charge, overdraft: Credits = 0n): void {
  assert.equal(result.repeated, false, 'repeated')
  assertCharge(result.charge, charge)
  assert.equal(result.overdraft, overdraft, 'overdraft')
}

/** Asserts that an earlier call posted this charge. */
export function assertRepeated(result: SettleResult, charge: Charge): void {
  assert.equal(result.repeated, true, 'repeated')
  assertCharge(result.charge, charge)
}

function plainCharge({ usage, ...charge }: Charge): object {
  const { prompt, cached, cacheWrite, completion, reasoning } = usage
  const { cost, base, markup, basis, byok, priceVersion, shortfall } = charge
  return {
    ...{ cost, base, markup, basis, byok, priceVersion, shortfall },
    usage: {
      ...{ prompt, cached, cacheWrite, completion, reasoning },
      ...Object.fromEntries(MEDIA_UNITS.map(({ name }) => [name, usage[name]])),
    },
  }
}
