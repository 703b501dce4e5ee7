import * as z from 'zod'
import { CompatError } from '../../base/errors.js'
import { creditsToNumber, formatCredits } from '../../base/money.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { LedgerLookUps } from '../../contracts/look-ups.js'
import { type Caller, READ_CREDITS } from '../../engine/admission/authenticate.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import type { Engine } from '../../engine/engine.js'
import { errorResponses, success } from '../../protocol/openapi-parts.js'
import { jsonBytes } from '../../protocol/wire-bytes.js'
import { LOOK_UP_CODES, readCounts, readSpent, tightest } from '../look-ups/ask-ledger.js'

const decimal = z.string().regex(/^-?\d+(\.\d{1,9})?$/)

const creditsSchema = z.looseObject({
  data: z.looseObject({
    total_credits: z.number().describe('`granted` as a number.'),
    total_usage: z.number().describe('`spent` as a number.'),
    of: z
      .enum(['account', 'credential'])
      .describe(`\`credential\`: the budget of an access token without the scope \`${READ_CREDITS}\`.`),
    granted: decimal,
    spent: decimal,
    held: decimal.describe('For calls in flight.'),
    available: decimal.describe('`granted - spent - held`'),
  }),
})

interface Amounts {
  readonly granted: bigint
  readonly spent: bigint
  readonly held: bigint
  readonly available: bigint
}

/** `GET /credits`: the credit of the account that pays, or what an app may spend of it. */
export function creditsEndpoint(engine: Engine, lookUps: LedgerLookUps): Endpoint {
  return {
    method: 'GET',
    path: '/credits',
    openapi: {
      operation: {
        operationId: 'getCredits',
        summary: 'Show the credit',
        responses: {
          200: success('The credit of the account, or the budget of the access token.', 'Credits'),
          ...errorResponses([...LOOK_UP_CODES, 'insufficient_scope']),
        },
      },
      schemas: { Credits: creditsSchema },
    },
    answer: (call, writer) =>
      engine.answer('get-credits', call, writer, async (context, caller) => {
        const seesAccount = !caller.hidesBalance
        const { available, granted, held, spent } = seesAccount
          ? await creditOfAccount(engine, lookUps, caller, context)
          : await budgetOf(engine, lookUps, caller, context)
        const data = {
          total_credits: creditsToNumber(granted),
          total_usage: creditsToNumber(spent),
          of: seesAccount ? 'account' : 'credential',
          granted: formatCredits(granted),
          spent: formatCredits(spent),
          held: formatCredits(held),
          available: formatCredits(available),
        }
        return jsonBytes({ data })
      }),
  }
}

async function creditOfAccount(
  engine: Engine,
  lookUps: LedgerLookUps,
  { principal: { account } }: Caller,
  context: LazyContext,
): Promise<Amounts> {
  const { balance, total: spent } = await readSpent(engine, lookUps, { account }, context)
  const { available, held, posted } = balance
  return { granted: posted + spent, spent, held, available }
}

async function budgetOf(
  engine: Engine,
  lookUps: LedgerLookUps,
  { limits }: Caller,
  context: LazyContext,
): Promise<Amounts> {
  const budget = tightest(await readCounts(engine, lookUps, limits, context), 'credits')
  if (budget === undefined) {
    throw new CompatError(
      'insufficient_scope',
      `This access token lacks the scope ${READ_CREDITS}, which GET /credits needs, and it has no budget of its own to show.`,
      { metadata: { scope: READ_CREDITS } },
    )
  }
  const { definition, held, left, used } = budget
  return { granted: definition.amount, spent: used, held, available: left }
}
