import { isProblem, ownerOfCall } from '../contracts/calls.js'
import type { CallFacts, Charge, KeptCall } from '../contracts/index.js'
import { readBigint, readJson, readNumber, readOptionalText, readText, toTimeCell } from './cells.js'
import type { Parameter, Row } from './database.js'
import { checkOptionalText, checkText } from './text.js'

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
  details: 'text',
} as const satisfies Readonly<Record<string, 'text' | 'bigint'>>

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

/** A cell for each of {@link CALL_COLUMNS}, in the same order. Throws a `TypeError` if a database cannot store a text. */
export function toCallCells(call: KeptCall): readonly Parameter[] {
  const { id, requestId, at, operation, status, outcome, facts, caller: _, askedModel, ...rest } = call
  const { charge, holdAmount, overdraft, ...others } = rest
  const owner = ownerOfCall(call)
  const details: Details = {
    ...others,
    ...(facts !== undefined && { facts: toFactsCell(facts) }),
    ...(charge !== undefined && { charge: toChargeCell(charge) }),
    ...(holdAmount !== undefined && { holdAmount: holdAmount.toString() }),
    ...(overdraft !== undefined && { overdraft: overdraft.toString() }),
  }
  return [
    checkText(id, 'id'),
    checkText(requestId, 'requestId'),
    toTimeCell(at, 'at'),
    checkText(operation, 'operation'),
    BigInt(status),
    checkText(outcome, 'outcome'),
    isProblem(call) ? 1n : 0n,
    checkOptionalText(owner?.account, 'account'),
    checkOptionalText(owner?.credentialId, 'credentialId'),
    checkOptionalText(owner?.appId, 'appId'),
    checkOptionalText(facts?.model ?? askedModel, 'model'),
    JSON.stringify(details),
  ]
}

function toFactsCell(facts: CallFacts): NonNullable<Details['facts']> {
  const {
    requestId: _,
    account: _account,
    credentialId: _credential,
    appId: _app,
    model: _model,
    ...rest
  } = facts
  return rest
}

function toChargeCell({ base, cost, markup, shortfall, ...charge }: Charge): NonNullable<Details['charge']> {
  return {
    ...charge,
    cost: cost.toString(),
    base: base.toString(),
    markup: markup.toString(),
    ...(shortfall !== undefined && { shortfall: shortfall.toString() }),
  }
}

/** Reads a call from its row. */
export function readCall(row: Row): KeptCall {
  const { facts, charge, holdAmount, overdraft, ...rest } = readJson<Details>(row, 'details')
  const requestId = readText(row, 'request_id')
  const account = readOptionalText(row, 'account')
  const credentialId = readOptionalText(row, 'credential_id')
  const appId = readOptionalText(row, 'app_id')
  const model = readOptionalText(row, 'model')
  const owner =
    account === undefined || credentialId === undefined
      ? undefined
      : { account, credentialId, ...(appId !== undefined && { appId }) }
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
      : {
          ...(owner !== undefined && { caller: owner }),
          ...(model !== undefined && { askedModel: model }),
        }),
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
