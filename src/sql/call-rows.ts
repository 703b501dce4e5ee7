import { present } from '../base/present.js'
import type { CallFacts, Charge, KeptCall } from '../contracts/index.js'
import { isProblem, ownerOfCall } from '../rules/kept-calls.js'
import { checkTime, readBigint, readJson, readNumber, readOptionalText, readText } from './cells.js'
import type { Parameter, Row } from './database.js'
import { checkOptionalText, checkText } from './text.js'

/** `json` is text that `JSON.stringify` has written, so it is one line. */
export type ColumnType = 'text' | 'bigint' | 'json'

/** The columns of a kept call and their types, except `seq`, which the database sets. */
export const CALL_COLUMNS = {
  id: 'text',
  request_id: 'text',
  at: 'bigint',
  operation: 'text',
  status: 'bigint',
  outcome: 'text',
  is_problem: 'bigint',
  account: 'text',
  credential_id: 'text',
  app_id: 'text',
  model: 'text',
  details: 'json',
} as const satisfies Readonly<Record<string, ColumnType>>

type OwnColumns = 'id' | 'requestId' | 'at' | 'operation' | 'status' | 'outcome'
type OwnerColumns = 'account' | 'credentialId' | 'appId'

/** The rest of a call, as JSON. Amounts are text. */
interface Details
  extends Omit<
    KeptCall,
    OwnColumns | 'facts' | 'caller' | 'askedModel' | 'charge' | 'holdAmount' | 'overdraft'
  > {
  readonly facts?: Omit<CallFacts, OwnerColumns | 'requestId' | 'model'>
  readonly charge?: Omit<Charge, 'cost' | 'base' | 'markup' | 'shortfall'> & ChargeAmounts
  readonly holdAmount?: string
  readonly overdraft?: string
}

interface ChargeAmounts {
  readonly cost: string
  readonly base: string
  readonly markup: string
  readonly shortfall?: string
}

/**
 * Returns a cell for each of {@link CALL_COLUMNS}, in the same order. Throws a `TypeError` if a database cannot store a
 * text. Objects are written out, since every call runs this. JSON omits undefined members.
 */
export function toCallCells(call: KeptCall): readonly Parameter[] {
  const { charge, facts, holdAmount, overdraft } = call
  const owner = ownerOfCall(call)
  const details: Undefinable<Details> = {
    durationMs: call.durationMs,
    facts: facts && toFactsCell(facts),
    field: call.field,
    stream: call.stream,
    charge: charge && toChargeCell(charge),
    holdId: call.holdId,
    holdAmount: holdAmount?.toString(),
    routing: call.routing,
    providerMs: call.providerMs,
    firstTokenMs: call.firstTokenMs,
    finishReason: call.finishReason,
    nativeFinishReason: call.nativeFinishReason,
    upstreamId: call.upstreamId,
    outputLimit: call.outputLimit,
    clientRetry: call.clientRetry,
    replayed: call.replayed,
    overdraft: overdraft?.toString(),
    limit: call.limit,
  }
  return [
    checkText(call.id, 'id'),
    checkText(call.requestId, 'requestId'),
    checkTime(call.at, 'at'),
    checkText(call.operation, 'operation'),
    call.status,
    checkText(call.outcome, 'outcome'),
    isProblem(call) ? 1 : 0,
    checkOptionalText(owner?.account, 'account'),
    checkOptionalText(owner?.credentialId, 'credentialId'),
    checkOptionalText(owner?.appId, 'appId'),
    checkOptionalText(facts?.model ?? call.askedModel, 'model'),
    JSON.stringify(details),
  ]
}

/** Requires every member, so that the compiler finds a missing one. */
type Undefinable<Value> = { readonly [Name in keyof Required<Value>]: Value[Name] }

function toFactsCell(facts: CallFacts): Undefinable<NonNullable<Details['facts']>> {
  return {
    claimedAppId: facts.claimedAppId,
    sessionId: facts.sessionId,
    user: facts.user,
    provider: facts.provider,
    routeId: facts.routeId,
    completionId: facts.completionId,
  }
}

function toChargeCell(charge: Charge): Undefinable<NonNullable<Details['charge']>> {
  return {
    cost: charge.cost.toString(),
    base: charge.base.toString(),
    markup: charge.markup.toString(),
    basis: charge.basis,
    byok: charge.byok,
    usage: charge.usage,
    priceVersion: charge.priceVersion,
    shortfall: charge.shortfall?.toString(),
  }
}

/** Reads a call from its row. */
export function readCall(row: Row): KeptCall {
  const { facts, charge, holdAmount, overdraft, ...rest } = readJson<Details>(row, 'details')
  const requestId = readText(row, 'request_id')
  const account = readOptionalText(row, 'account')
  const credentialId = readOptionalText(row, 'credential_id')
  const model = readOptionalText(row, 'model')
  const owner =
    account === undefined || credentialId === undefined
      ? undefined
      : { account, credentialId, ...present({ appId: readOptionalText(row, 'app_id') }) }
  return {
    id: readText(row, 'id'),
    requestId,
    at: readNumber(row, 'at'),
    operation: readText(row, 'operation'),
    status: readNumber(row, 'status'),
    outcome: readText(row, 'outcome'),
    ...rest,
    ...(facts !== undefined && owner !== undefined && model !== undefined
      ? { facts: { ...facts, requestId, model, ...owner } }
      : present({ caller: owner, askedModel: model })),
    ...(charge !== undefined && { charge: readChargeCell(charge) }),
    ...(holdAmount !== undefined && { holdAmount: BigInt(holdAmount) }),
    ...(overdraft !== undefined && { overdraft: BigInt(overdraft) }),
  }
}

function readChargeCell({
  base,
  cost,
  markup,
  shortfall,
  ...charge
}: NonNullable<Details['charge']>): Charge {
  return {
    ...charge,
    cost: BigInt(cost),
    base: BigInt(base),
    markup: BigInt(markup),
    ...(shortfall !== undefined && { shortfall: BigInt(shortfall) }),
  }
}

/** Returns the position of a call's row, for the next page. */
export function readPosition(row: Row): string {
  return `${readNumber(row, 'at')}.${readBigint(row, 'seq')}`
}
