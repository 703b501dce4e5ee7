import type { PayerQuery, RefundOptions } from '../../admin/index.js'
import { present } from '../../base/present.js'
import type { Entry } from '../../contracts/index.js'
import { formatTime } from '../context/output.js'
import { parseInteger } from '../context/parse.js'
import { addFilters, type FilterOptions, toFilters } from './filters.js'
import type { Noun } from './noun.js'
import { sayRepeat } from './repeats.js'

type ListOptions = FilterOptions & {
  readonly session?: string
  readonly reference?: string
  readonly after?: string
  readonly limit: number
}

export const entries: Noun = {
  about: 'the postings of the ledger',
  verbs: {
    list: (command, context) =>
      addFilters(command.description('list postings, newest first'))
        .option('--session <id>', 'only entries of this session')
        .option('--reference <text>', 'only the posting with this reference')
        .option('--after <cursor>', 'show the next page: the cursor that ended the previous one')
        .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
        .action(async (options: ListOptions) => {
          const query: PayerQuery = {
            ...toFilters(options),
            limit: options.limit,
            ...present({ sessionId: options.session, reference: options.reference, after: options.after }),
          }
          const page = await (await context.reader()).entries.list(query)
          context.show(page, page.entries.map(toEntryRow))
          if (page.next !== undefined) context.say(`More: --after ${page.next}`)
        }),

    'refund <charge> [credits]': (command, context) =>
      command
        .description(
          'reverse a charge by its entry or its reply, or a part of it; by default all that is left',
        )
        .option('--reference <text>', 'identifies this posting; a repeat posts nothing')
        .option('--memo <text>', 'the reason, shown with the entry')
        .action(async (entryId: string, amount: string | undefined, options: RefundOptions) => {
          const entry = await (await context.admin()).entries.refund(entryId, amount, options)
          context.show(entry, [
            {
              entry: entry.id,
              kind: entry.kind,
              charge: entry.refund?.of,
              account: entry.facts?.account,
              amount: entry.refund?.amount,
            },
          ])
          if (entry.isRepeat) sayRepeat(context, options.reference, entry)
        }),
  },
}

function toEntryRow(entry: Entry) {
  return {
    at: formatTime(entry.at),
    entry: entry.id,
    kind: entry.kind,
    account: entry.facts?.account ?? entry.postings[0]?.account,
    amount: amountOf(entry),
    model: entry.facts?.model,
    app: entry.facts?.appId,
    provider: entry.facts?.provider,
    reply: entry.facts?.completionId,
    memo: entry.memo,
    reference: entry.reference,
  }
}

/** Returns the change to the payer's balance, or the amount of a credit or a correction. */
function amountOf({ charge, refund, postings }: Entry): bigint | undefined {
  return charge === undefined ? (refund?.amount ?? postings[0]?.amount) : -charge.cost
}
