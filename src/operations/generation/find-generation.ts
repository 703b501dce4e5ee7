import { CompatError } from '../../base/errors.js'
import type { KeptCall } from '../../contracts/calls.js'
import type { CredentialOwner, Principal } from '../../contracts/credentials.js'
import type { CallFacts, Charge } from '../../contracts/ledger.js'
import type { LedgerLookUps } from '../../contracts/look-ups.js'
import type { Operation } from '../../contracts/operation.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import { within } from '../../engine/asking/within.js'
import { holdMs } from '../../engine/charging/held-credit.js'
import type { FoundCall } from '../../engine/charging/ledger-client.js'
import type { Engine } from '../../engine/engine.js'
import { eventError } from '../../engine/events/event-error.js'
import { ownerOfCall } from '../../rules/kept-calls.js'

/** A call that was found. */
export interface Generation {
  /** The id of its reply, or the id by which it was found. */
  readonly id: string
  /** Unknown for a call that is found by its request id while it runs. */
  readonly operation: string | undefined
  /** Absent if the request was refused before its model was found. */
  readonly facts: CallFacts | undefined
  /** Whether the call is still running, or its charge is not posted yet. */
  readonly isPending: boolean
  /** Absent if nothing is charged, or the charge is not known yet. */
  readonly charge: Charge | undefined
  readonly refunded: bigint
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number
  /** How the call ended. Absent if it has not ended, or was not kept. */
  readonly kept: KeptCall | undefined
}

/** Finds the calls that a caller may see: an API key sees those of its account, and an app its own. */
export class GenerationFinder {
  constructor(
    private readonly engine: Engine,
    private readonly lookUps: LedgerLookUps,
    private readonly operations: readonly Operation[],
  ) {}

  /** Returns the call with this reply id. If there is none, returns the newest call with this request id. */
  async find(id: string, principal: Principal, context: LazyContext): Promise<Generation | undefined> {
    // Must be first: a call is recorded at the moment when it is no longer in flight.
    const inFlight = this.inFlight(id, principal)
    const { hasFailed, kept } = await this.askCalls(id, principal, context)
    // A client may reuse the request id of an earlier call.
    if (inFlight !== undefined && kept !== undefined && kept.id !== id && kept.at < inFlight.startedAt) {
      return inFlight
    }
    const replyId = kept?.facts?.completionId ?? id
    const call = await this.askLedger(replyId, principal, context)
    const found = this.merge(replyId, call, kept) ?? inFlight
    if (found === undefined && hasFailed) throw unavailable()
    return found
  }

  private inFlight(requestId: string, principal: Principal): Generation | undefined {
    const call = this.engine
      .calls()
      .find((one) => one.requestId === requestId && maySee(principal, one.facts))
    if (call === undefined) return undefined
    const { facts, startedAt } = call
    return {
      id: requestId,
      operation: undefined,
      facts,
      isPending: true,
      charge: undefined,
      refunded: 0n,
      startedAt,
      kept: undefined,
    }
  }

  /** Asks how the call ended. These are details: without them, the ledger still knows the call. */
  private async askCalls(
    id: string,
    principal: Principal,
    { requestId }: LazyContext,
  ): Promise<{ readonly kept?: KeptCall; readonly hasFailed: boolean }> {
    const { calls, clock, emit, timeouts } = this.engine.options
    const failed = (error: unknown): unknown => {
      emit({ type: 'store-fault', store: 'calls', requestId, error: eventError(error) })
      return error
    }
    try {
      const kept = await within(clock, timeouts.storeMs, calls.find(principal.account, id), failed)
      return kept && maySee(principal, ownerOfCall(kept)) ? { kept, hasFailed: false } : { hasFailed: false }
    } catch {
      return { hasFailed: true }
    }
  }

  private async askLedger(
    replyId: string,
    principal: Principal,
    context: LazyContext,
  ): Promise<FoundCall | undefined> {
    const prefix = this.operationOf(replyId)?.idPrefix
    if (prefix === undefined) return undefined
    const callId = replyId.slice(prefix.length)
    const call = await this.engine.findCall(callId, principal.account, context, this.lookUps)
    const facts = call && factsOf(call)
    return facts?.completionId === replyId && maySee(principal, facts) ? call : undefined
  }

  private merge(
    replyId: string,
    call: FoundCall | undefined,
    kept: KeptCall | undefined,
  ): Generation | undefined {
    if (call === undefined && kept === undefined) return undefined
    const keptAt = kept && kept.at - kept.durationMs
    const common = {
      id: kept?.facts?.completionId === undefined && call === undefined ? kept!.id : replyId,
      operation: kept?.operation ?? this.operationOf(replyId)?.name,
      facts: (call && factsOf(call)) ?? kept?.facts,
      refunded: 0n,
      kept,
    }
    switch (call?.state) {
      case 'settling':
        return { ...common, isPending: true, charge: call.charge, startedAt: keptAt ?? this.now }
      case 'held': {
        // A call that ended without a charge only waits for its hold to be released.
        const isPending = kept === undefined || kept.charge !== undefined
        const startedAt = keptAt ?? call.expiresAt - holdMs(this.engine.options.timeouts)
        return { ...common, isPending, charge: kept?.charge, startedAt }
      }
      case 'settled': {
        const { entry, refunded } = call
        return { ...common, isPending: false, charge: entry.charge, refunded, startedAt: keptAt ?? entry.at }
      }
      case 'ended':
        // A charge here could not be posted before its hold expired.
        return {
          ...common,
          isPending: kept?.charge !== undefined,
          charge: kept?.charge,
          startedAt: keptAt ?? call.at,
        }
      case undefined:
        return { ...common, isPending: false, charge: kept?.charge, startedAt: keptAt ?? 0 }
    }
  }

  private get now(): number {
    return this.engine.options.wallClock.now()
  }

  private operationOf(replyId: string): Operation | undefined {
    return this.operations.find(({ idPrefix }) => replyId.startsWith(idPrefix))
  }
}

/** A store is not trusted to return only calls of this account. */
function maySee(
  { account, credentialId, kind }: Principal,
  owner: Pick<CredentialOwner, 'account' | 'credentialId'> | undefined,
): boolean {
  return owner?.account === account && (kind === 'api-key' || owner.credentialId === credentialId)
}

function factsOf(call: FoundCall): CallFacts | undefined {
  return call.state === 'settled' ? call.entry.facts : call.facts
}

function unavailable(): CompatError {
  return new CompatError('overloaded', 'This service cannot look up the call just now. Try again shortly.')
}
