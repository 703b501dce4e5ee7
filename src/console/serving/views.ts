import type { AccountRow } from '../../admin/index.js'
import type {
  CallFacts,
  Charge,
  CredentialOwner,
  Entry,
  RequestEnd,
  RoutingExplanation,
} from '../../contracts/index.js'
import { NO_REFERENCES, type References } from './references.js'
import type { ConsoleViewer } from './viewer.js'

export function accountView({ balance, ...row }: AccountRow) {
  return { ...row, ...balance }
}

interface CallParts {
  readonly facts?: CallFacts
  readonly caller?: CredentialOwner
  readonly charge?: Charge
}

/** The parts of a call that entries, kept calls and events have in common. */
export function callParts({ facts, caller, charge }: CallParts, references: References) {
  return {
    facts: facts && factsView(facts, references),
    caller: caller && callerView(caller, references),
    charge: charge && { ...charge, currentPrices: facts && references.pricesOf(facts) },
  }
}

/** Copies only these members, so that none added in a later release is exposed. */
function factsView(facts: CallFacts, { labelOf }: References) {
  const { requestId, account, credentialId, model, appId, claimedAppId } = facts
  const { sessionId, user, provider, routeId, completionId } = facts
  return {
    requestId,
    account,
    credentialId,
    /** The credential's current label. */
    credentialLabel: labelOf(credentialId),
    model,
    appId,
    /** An unverified label that a client sent with an API key. */
    claimedAppId,
    sessionId,
    user,
    provider,
    routeId,
    completionId,
  }
}

function callerView({ account, credentialId, appId }: CredentialOwner, { labelOf }: References) {
  return { account, credentialId, credentialLabel: labelOf(credentialId), appId }
}

/** How a call ended, from an event or from the database. */
export type CallEnd = Omit<RequestEnd, 'type'>

export function explanationView(end: CallEnd, viewer: ConsoleViewer) {
  return {
    startedAt: end.at - end.durationMs,
    durationMs: end.durationMs,
    firstTokenMs: end.firstTokenMs,
    outcome: end.outcome,
    status: end.status,
    holdAmount: end.holdAmount,
    routing: end.routing && routingView(end.routing, viewer),
    finishReason: end.finishReason,
    nativeFinishReason: end.nativeFinishReason,
    upstreamId: end.upstreamId,
    outputLimit: end.outputLimit,
    action: end.action,
    connected: end.connected,
    clientRetry: end.clientRetry,
    replayed: end.replayed,
    overdraft: end.overdraft,
  }
}

/** Only operators see why a provider failed. */
function routingView(routing: RoutingExplanation, { kind }: ConsoleViewer) {
  const attempts: RoutingExplanation['attempts'] =
    kind === 'operator'
      ? routing.attempts
      : routing.attempts.map(({ outcome, routeId }) => ({ outcome, routeId }))
  return { ...routing, behind: routing.behind ?? [], attempts }
}

export type EntryView = ReturnType<typeof entryView>

/**
 * Returns an entry as a viewer may see it. A user that earned from another account's call sees only the amount, the time,
 * the model and the app.
 */
export function entryView(
  { facts, charge, ...entry }: Entry,
  viewer: ConsoleViewer,
  account: string | undefined,
  end: CallEnd | undefined,
  references: References = NO_REFERENCES,
) {
  const own = entry.postings.find((posting) => posting.account === account)
  const isAll = viewer.kind === 'operator'
  const isOpen = isAll || facts?.account === viewer.account
  const { id, at, kind, memo, reference, refund, holdId } = entry
  return {
    id,
    at,
    kind,
    /** The change to the queried account's balance; absent if no account was queried. */
    amount: own?.amount,
    /** A user sees only its own account's posting. */
    postings: isAll ? entry.postings : entry.postings.filter((posting) => posting === own),
    memo: refund === undefined || isOpen ? memo : undefined,
    reference: refund === undefined || isOpen ? reference : undefined,
    /** Replaces `charge` and `facts` if a user earned from another account's call. */
    earnedFrom: facts === undefined || isOpen ? undefined : { model: facts.model, appId: facts.appId },
    ...(isOpen && {
      ...callParts({ facts, charge }, references),
      refund,
      holdId,
      /** How the call went; absent if it is no longer known. */
      explanation: end && explanationView(end, viewer),
    }),
  }
}
