import { Option } from 'commander'
import type { SpendQuery } from '../../admin/index.js'
import { addFilters, type FilterOptions, toFilters } from './filters.js'
import type { Noun } from './noun.js'

export const reports: Noun = {
  about: 'sums over many calls',
  verbs: {
    spend: (command, context) =>
      addFilters(command.description('sum up charges by day, model, app, key, account or provider'))
        .addOption(
          new Option('--by <group>', 'how to group the sums')
            .choices(['day', 'model', 'app', 'key', 'account', 'provider'])
            .default('day'),
        )
        .action(async (options: FilterOptions & { by: SpendQuery['by'] }) => {
          const rows = await (await context.reader()).reports.spend({ ...toFilters(options), by: options.by })
          context.show(
            rows,
            rows.map((row) => ({
              [options.by]: row.key,
              calls: row.calls,
              cost: row.cost,
              base: row.base,
              markup: row.markup,
              prompt: row.usage.prompt,
              completion: row.usage.completion,
            })),
          )
        }),
  },
}
