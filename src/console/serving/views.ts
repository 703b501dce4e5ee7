import type { AccountRow } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import type {
  CallFacts,
  Charge,
  CredentialOwner,
  Entry,
  RequestEnd,
  RoutingExplanation,
} from '../../contracts/index.js'
import type {
  AccountView,
  CallerView,
  ChargeView,
  CurrentPricesView,
  EntryView,
  ExplanationView,
  FactsView,
  RoutingView,
  SpendSums,
} from '../protocol/index.js'
import { NO_REFERENCES, type References } from './references.js'
import type { ConsoleViewer } from './viewer.js'

export function accountView({ id, balance, createdAt, suspendedAt }: AccountRow): AccountView {
  return {
    id,
    posted: formatCredits(balance.posted),
    held: formatCredits(balance.held),
    available: formatCredits(balance.available),
    createdAt,
    ...(suspendedAt === undefined ? {} : { suspendedAt }),
  }
}

export function spendSums(
  sums: Pick<Charge, 'cost' | 'base' | 'markup' | 'usage'> & { calls: number },
): SpendSums {
  return {
    calls: sums.calls,
    cost: formatCredits(sums.cost),
    base: formatCredits(sums.base),
    markup: formatCredits(sums.markup),
    usage: sums.usage,
  }
}

export function chargeView(charge: Charge, currentPrices: CurrentPricesView | undefined): ChargeView {
  const { basis, byok, usage, priceVersion, shortfall } = charge
  return {
    cost: formatCredits(charge.cost),
    base: formatCredits(charge.base),
    markup: formatCredits(charge.markup),
    basis,
    byok,
    usage,
    ...(priceVersion === undefined ? {} : { priceVersion }),
    ...(currentPrices === undefined ? {} : { currentPrices }),
    ...(shortfall === undefined ? {} : { shortfall: formatCredits(shortfall) }),
  }
}

/** Copies only these members, and none that a later release may add. */
export function factsView(facts: CallFacts, { labelOf }: References): FactsView {
  const { requestId, account, credentialId, model, appId, claimedAppId } = facts
  const { sessionId, user, provider, routeId, completionId } = facts
  return present({
    requestId,
    account,
    credentialId,
    credentialLabel: labelOf(credentialId),
    model,
    appId,
    claimedAppId,
    sessionId,
    user,
    provider,
    routeId,
    completionId,
  })
}

export function callerView(
  { account, credentialId, appId }: CredentialOwner,
  { labelOf }: References,
): CallerView {
  return present({ account, credentialId, credentialLabel: labelOf(credentialId), appId })
}

/** How a call ended, from an event or from the database. */
export type CallEnd = Omit<RequestEnd, 'type'>

export function explanationView(end: CallEnd, viewer: ConsoleViewer): ExplanationView {
  const { routing, holdAmount, overdraft } = end
  return present({
    startedAt: end.at - end.durationMs,
    durationMs: end.durationMs,
    firstTokenMs: end.firstTokenMs,
    outcome: end.outcome,
    status: end.status,
    holdAmount: holdAmount === undefined ? undefined : formatCredits(holdAmount),
    routing: routing === undefined ? undefined : routingView(routing, viewer),
    finishReason: end.finishReason,
    nativeFinishReason: end.nativeFinishReason,
    upstreamId: end.upstreamId,
    outputLimit: end.outputLimit,
    action: end.action,
    connected: end.connected,
    clientRetry: end.clientRetry,
    replayed: end.replayed,
    overdraft: overdraft === undefined ? undefined : formatCredits(overdraft),
  })
}

/** Only operators see why a provider failed. */
function routingView(routing: RoutingExplanation, { kind }: ConsoleViewer): RoutingView {
  const attempts =
    kind === 'operator'
      ? routing.attempts
      : routing.attempts.map(({ outcome, routeId }) => ({ outcome, routeId }))
  return { behind: [], ...routing, attempts }
}

/**
 * Returns an entry as a viewer may see it. A user that earned from another account's call sees only the amount, the time,
 * the model and the app.
 */
export function entryView(
  entry: Entry,
  viewer: ConsoleViewer,
  account: string | undefined,
  end: CallEnd | undefined,
  references: References = NO_REFERENCES,
): EntryView {
  const own = entry.postings.find((posting) => posting.account === account)
  const isAll = viewer.kind === 'operator'
  const postings = isAll ? entry.postings : entry.postings.filter((posting) => posting === own)
  const isOpen = isAll || entry.facts?.account === viewer.account
  const { facts, charge, refund, holdId } = entry
  return present({
    id: entry.id,
    at: entry.at,
    kind: entry.kind,
    amount: own === undefined ? undefined : formatCredits(own.amount),
    postings: postings.map((posting) => ({
      account: posting.account,
      amount: formatCredits(posting.amount),
    })),
    memo: refund === undefined || isOpen ? entry.memo : undefined,
    earnedFrom:
      facts === undefined || isOpen ? undefined : present({ model: facts.model, appId: facts.appId }),
    charge:
      charge === undefined || !isOpen
        ? undefined
        : chargeView(charge, facts === undefined ? undefined : references.pricesOf(facts)),
    refund:
      refund === undefined || !isOpen ? undefined : { of: refund.of, amount: formatCredits(refund.amount) },
    facts: facts === undefined || !isOpen ? undefined : factsView(facts, references),
    holdId: isOpen ? holdId : undefined,
    explanation: end === undefined || !isOpen ? undefined : explanationView(end, viewer),
  })
}

type Present<Value> = {
  [Name in keyof Value as undefined extends Value[Name] ? never : Name]: Value[Name]
} & {
  [Name in keyof Value as undefined extends Value[Name] ? Name : never]?: Exclude<Value[Name], undefined>
}

/** Omits undefined members. */
export function present<Value extends object>(value: Value): Present<Value> {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Present<Value>
}
