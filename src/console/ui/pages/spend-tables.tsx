import type { SpendOverTimeReply, SpendRow } from '../../protocol.js'
import { pathOf } from '../base/api.js'
import { capitalized, formatCount, formatShare } from '../base/format.js'
import { useLoad } from '../base/use-load.js'
import { Id } from '../parts/basics.js'
import type { ChartSeries } from '../parts/chart.js'
import { Listing } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { STEP_NAMES, stepText } from '../parts/steps.js'
import { type Column, Table, TableHead } from '../parts/table.js'
import { Amount } from '../parts/values.js'
import { type By, type Measure, NONE, type Split, seriesOf, totalOf } from './spend-series.js'

type Sums = Omit<SpendRow, 'key' | 'name'>

/** The figures of the chart; and of all calls, all sums. */
export function StepTable(props: {
  reply: SpendOverTimeReply
  split: Split
  measure: Measure
  unit: string
}) {
  const { reply, split, measure, unit } = props
  const name = STEP_NAMES[reply.length]
  const rows = reply.steps.map((sums, step) => ({ ...sums, step })).toReversed()
  const figure = ({ name, figureAt }: ChartSeries): Column<(typeof rows)[number]> => ({
    head: name,
    isNumber: true,
    sortBy: ({ step }) => figureAt(step).replaceAll(',', ''),
    cell: ({ step }) => (measure === 'cost' ? <Amount value={figureAt(step)} /> : figureAt(step)),
  })
  const columns =
    split === 'none'
      ? sumColumns(reply.total)
      : [totalOf(reply, measure), ...seriesOf(reply, split, measure)].map(figure)
  return (
    <Table
      isOneLine
      caption={split === 'none' ? `Spend by ${name}` : `Spend by ${name} and ${split}, in ${unit}`}
      rows={rows}
      keyOf={({ from }) => String(from)}
      columns={[
        {
          head: capitalized(name),
          sortBy: ({ from }) => from,
          cell: (step) => stepText(reply, step).title,
          ...(split === 'none' && { foot: 'Total' }),
        },
        ...columns,
      ]}
    />
  )
}

/** The same time in one row for each group, the most expensive first. */
export function Groups(props: {
  reply: SpendOverTimeReply
  by: By
  filters: { account: string | undefined; model: string | undefined; appId: string | undefined }
}) {
  const { reply, by, filters } = props
  const question = { by, ...filters, from: reply.steps[0]!.from, to: reply.steps.at(-1)!.to }
  const pages = usePages(question)
  const spend = useLoad('reports/spend', { ...question, after: pages.after })
  return (
    <Listing what={`the spend by ${by}`} loaded={spend}>
      {({ rows, rowCount, total, next }) => (
        <>
          <TableHead title={`By ${by}`} count={rowCount} csv={pathOf('reports/spend.csv', question)} />
          <Table
            isOneLine
            caption={`Spend by ${by}`}
            columns={[
              {
                head: capitalized(by),
                sortBy: (row) => row.name ?? row.key,
                cell: (row) => (
                  <>
                    {row.name !== undefined && <span title={row.name}>{row.name} </span>}
                    <Id of={row.key ?? NONE[by]} />
                  </>
                ),
                foot: 'Total',
              },
              ...sumColumns(total),
            ]}
            rows={rows}
            keyOf={(row) => row.key ?? ''}
            isPage={rowCount > rows.length}
          />
          {rowCount > rows.length && (
            <p class="hint">
              {rows.length} of {formatCount(rowCount)} rows, the most expensive first. The total covers all
              rows.
            </p>
          )}
          <Pager pages={pages} next={next} />
        </>
      )}
    </Listing>
  )
}

function sumColumns(total: Sums): readonly Column<Sums>[] {
  const amount = (head: string, of: 'cost' | 'base' | 'markup'): Column<Sums> => ({
    head,
    isNumber: true,
    sortBy: (row) => row[of],
    cell: (row) => <Amount value={row[of]} />,
    foot: <Amount value={total[of]} />,
  })
  const tokens = (head: string, of: 'prompt' | 'cached' | 'completion' | 'reasoning'): Column<Sums> => ({
    head,
    isNumber: true,
    sortBy: (row) => row.usage[of],
    cell: (row) => formatCount(row.usage[of]),
    foot: formatCount(total.usage[of]),
  })
  return [
    {
      head: 'Calls',
      isNumber: true,
      sortBy: (row) => row.calls,
      cell: (row) => formatCount(row.calls),
      foot: formatCount(total.calls),
    },
    amount('Charged', 'cost'),
    amount('Base', 'base'),
    amount('Markup', 'markup'),
    {
      head: 'Markup share',
      isNumber: true,
      cell: (row) => formatShare(row.markup, row.cost),
      foot: formatShare(total.markup, total.cost),
    },
    tokens('In', 'prompt'),
    tokens('Cached', 'cached'),
    tokens('Out', 'completion'),
    tokens('Reasoning', 'reasoning'),
  ]
}
