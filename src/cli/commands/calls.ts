import type { FoundCall } from '../../admin/index.js'
import { present } from '../../base/present.js'
import type { KeptCall, RoutingExplanation } from '../../contracts/index.js'
import { ownerOfCall } from '../../rules/kept-calls.js'
import { formatTime, type TableRow } from '../context/output.js'
import { parseInteger } from '../context/parse.js'
import { addFilters, type FilterOptions } from './filters.js'
import type { Noun } from './noun.js'

interface CallsOptions extends FilterOptions {
  readonly problems?: true
  readonly status?: number
  readonly code?: string
  readonly key?: string
  readonly request?: string
  readonly after?: string
  readonly limit: number
}

export const calls: Noun = {
  about: 'how calls ended, refusals and failures included',
  verbs: {
    list: (command, context) =>
      addFilters(command.description('list how calls ended, newest first'))
        .option('--problems', 'only calls that failed, were refused or were not charged')
        .option('--status <status>', 'only this HTTP status', parseInteger)
        .option('--code <code>', 'only this error code, or client-left')
        .option('--key <credential>', 'only calls with this key or access token')
        .option('--request <id>', 'only this x-request-id')
        .option('--after <cursor>', 'show the next page: the cursor that ended the previous one')
        .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
        .action(async ({ app, code, key, request, ...query }: CallsOptions) => {
          const page = await (await context.reader()).calls.list({
            ...query,
            ...present({ appId: app, outcome: code, credentialId: key, requestId: request }),
          })
          context.show(page, page.calls.map(toRow))
          if (page.next !== undefined) context.say(`More: --after ${page.next}`)
        }),

    'find <id>': (command, context) =>
      command
        .description('explain one call, by the id of its reply or its x-request-id')
        .action(async (id: string) => {
          const call = await (await context.reader()).calls.find(id)
          if (call === undefined) {
            throw new Error(
              `No call ${id} is kept. Calls of the last second may be missing, and old ones are deleted`,
            )
          }
          context.show(call, toDetails(call))
        }),
  },
}

function toRow(call: KeptCall): TableRow {
  const owner = ownerOfCall(call)
  return {
    at: formatTime(call.at),
    status: call.status,
    outcome: call.outcome,
    model: call.facts?.model ?? call.askedModel,
    account: owner?.account,
    key: owner?.credentialId,
    app: owner?.appId,
    provider: call.facts?.provider,
    ms: Math.round(call.durationMs),
    'first token': roundedMs(call.firstTokenMs),
    cost: call.charge?.cost,
    call: call.id,
  }
}

function toDetails(call: FoundCall): readonly TableRow[] {
  const { charge, facts, limit, routing } = call
  const owner = ownerOfCall(call)
  const values: TableRow = {
    call: call.id,
    request: call.requestId,
    ended: formatTime(call.at),
    operation: call.stream === true ? `${call.operation}, streamed` : call.operation,
    outcome: call.outcome,
    status: call.status,
    field: call.field,
    limit: limit?.id,
    model: facts?.model ?? call.askedModel,
    account: owner?.account,
    key: owner?.credentialId,
    app: owner?.appId,
    provider: facts?.provider,
    route: facts?.routeId,
    ...(routing !== undefined && toRoutingDetails(routing)),
    'total ms': Math.round(call.durationMs),
    'provider ms': roundedMs(call.providerMs),
    'first token ms': roundedMs(call.firstTokenMs),
    finish: call.finishReason,
    'id of the provider': call.upstreamId,
    'retry of the client': call.clientRetry,
    repeat: call.replayed === true ? 'of an earlier call' : undefined,
    'input tokens': charge?.usage.prompt,
    'output tokens': charge?.usage.completion,
    basis: charge?.basis,
    entry: call.entryId,
    cost: charge?.cost,
    base: charge?.base,
    markup: charge?.markup,
    hold: call.holdAmount,
  }
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([what, value]) => ({ what, value }))
}

function toRoutingDetails({ attempts, behind = [], chosenBy, excluded }: RoutingExplanation): TableRow {
  const because = (routes: readonly { readonly routeId: string; readonly why?: string }[]) =>
    routes.map(({ routeId, why }) => (why === undefined ? routeId : `${routeId}: ${why}`)).join('; ') ||
    undefined
  return {
    'chosen by': chosenBy,
    tried: because(
      attempts.map(({ outcome, routeId, why }) => ({
        routeId,
        why: why === undefined ? outcome : `${outcome}, ${why}`,
      })),
    ),
    'left out': because(excluded),
    'moved behind': because(behind),
  }
}

function roundedMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms)
}
