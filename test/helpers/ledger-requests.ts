import { randomBytes } from 'node:crypto'
import type { CallContext, CallFacts, Charge, HoldRequest, SettleRequest } from '../../src/contracts/index.js'

export const context: CallContext = { requestId: 'test', signal: new AbortController().signal }

export function createHoldId(): string {
  return randomBytes(16).toString('hex')
}

export function createFacts(account: string, rest: Partial<CallFacts> = {}): CallFacts {
  return { requestId: 'request-1', account, credentialId: 'credential-1', model: 'acme/fast', ...rest }
}

export function createHold(account: string, amount: bigint, rest: Partial<HoldRequest> = {}): HoldRequest {
  return { holdId: createHoldId(), account, amount, ttlMs: 60_000, facts: createFacts(account), ...rest }
}

export function createCharge(cost: bigint, rest: Partial<Charge> = {}): Charge {
  return {
    cost,
    base: cost,
    markup: 0n,
    basis: 'reported',
    byok: false,
    usage: { prompt: 11, cached: 1, cacheWrite: 2, completion: 7, reasoning: 3 },
    ...rest,
  }
}

export function createSettle(
  holdId: string,
  account: string,
  cost: bigint,
  rest: Partial<SettleRequest> = {},
): SettleRequest {
  return {
    holdId,
    charge: createCharge(cost),
    postings: [
      { account, amount: -cost },
      { account: 'platform', amount: cost },
    ],
    facts: createFacts(account),
    ...rest,
  }
}
