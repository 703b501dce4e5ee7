import type { SpendBy, SpendOverTimeReply, SpendReply, SpendRow } from '../../protocol.js'
import { pathOf } from '../base/api.js'
import { capitalized, formatCount, formatDuration, formatShare } from '../base/format.js'
import { changeQuery, hrefOf, type Place } from '../base/place.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Choice, Figure, Id, PageHead } from '../parts/basics.js'
import { Chart, type ChartSeries } from '../parts/chart.js'
import { Before } from '../parts/comparison.js'
import { daySpecs, Filters, useSubjectSpecs } from '../parts/filters.js'
import { Empty, Listing, Notice } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { RangeChoice } from '../parts/range-choice.js'
import { rangeQueryOf, rangeText, STEP_NAMES, stepText } from '../parts/steps.js'
import { type Column, Table, TableHead } from '../parts/table.js'
import { Amount } from '../parts/values.js'

type By = Exclude<SpendBy, 'day'>
type Split = By | 'none'

const SPLITS: readonly { readonly value: Split; readonly label: string }[] = [
  { value: 'none', label: 'All calls' },
  { value: 'model', label: 'Model' },
  { value: 'app', label: 'App' },
  { value: 'key', label: 'Key' },
  { value: 'account', label: 'Account' },
  { value: 'provider', label: 'Provider' },
]

const NONE: Readonly<Record<By, string>> = {
  model: 'no model',
  app: 'without an app',
  key: 'no key',
  account: 'no account',
  provider: 'no provider',
}

type Measure = 'cost' | 'calls' | 'tokens'

const MEASURES: readonly { readonly value: Measure; readonly label: string; readonly unit: string }[] = [
  { value: 'cost', label: 'Credits', unit: 'credits' },
  { value: 'calls', label: 'Calls', unit: 'calls' },
  { value: 'tokens', label: 'Tokens', unit: 'tokens' },
]

export function Spend({ query }: { query: Place['query'] }) {
  const isForOperator = isOperator(useSession().viewer)
  // A user has one account.
  const splits = SPLITS.filter(({ value }) => isForOperator || value !== 'account')
  const split = splits.find(({ value }) => value === query.by)?.value ?? 'none'
  const measure = MEASURES.find(({ value }) => value === query.measure) ?? MEASURES[0]!
  const { account, model, appId } = query
  const question = {
    ...rangeQueryOf(query),
    by: split === 'none' ? undefined : split,
    rank: measure.value,
    account,
    model,
    appId,
  }
  const spend = useLoad('reports/spend-over-time', question)
  const specs = useSubjectSpecs()
  return (
    <>
      <PageHead title="Spend" lead="Charges, from the ledger." />
      <Filters specs={[...specs, ...daySpecs]} query={query} />
      <div class="toolbar">
        <RangeChoice query={query} />
        <Choice label="Split by" options={splits} value={split} onChange={(by) => changeQuery({ by })} />
        <Choice
          label="Show"
          options={MEASURES}
          value={measure.value}
          onChange={(value) => changeQuery({ measure: value })}
        />
      </div>
      <Listing what="the spend" loaded={spend}>
        {(reply) =>
          reply.total.calls === 0 ? (
            <NothingSpent query={query} reply={reply} />
          ) : (
            <>
              <Report
                reply={reply}
                split={split}
                measure={measure.value}
                unit={measure.unit}
                askedZone={question.zone}
              />
              <TableHead
                title={`By ${STEP_NAMES[reply.length]}${split === 'none' ? '' : ` and ${split}`}`}
                count={reply.steps.length}
                csv={pathOf('reports/spend-over-time.csv', question)}
              />
              <StepTable reply={reply} split={split} measure={measure.value} unit={measure.unit} />
              {split !== 'none' && <Groups reply={reply} by={split} filters={{ account, model, appId }} />}
            </>
          )
        }
      </Listing>
    </>
  )
}

function NothingSpent({ query, reply }: { query: Place['query']; reply: SpendOverTimeReply }) {
  const isNarrowed = ['account', 'model', 'appId', 'fromDay', 'toDay'].some((name) => query[name])
  return (
    <Empty
      title={
        isNarrowed
          ? 'No charge matches these filters.'
          : `Nothing was charged: ${rangeText(reply, { from: reply.steps[0]!.from, to: reply.steps.at(-1)!.to })}.`
      }
    >
      {isNarrowed ? (
        'Clear a filter, or choose more days.'
      ) : (
        <>
          Choose a longer time, or send a message in the <a href={hrefOf('playground')}>playground</a>: its
          cost will appear here.
        </>
      )}
    </Empty>
  )
}

function Report(props: {
  reply: SpendOverTimeReply
  split: Split
  measure: Measure
  unit: string
  askedZone: string
}) {
  const { reply, split, measure, unit, askedZone } = props
  const { before, steps, total, zone } = reply
  const { usage } = total
  const was = before.total
  const times = { from: steps[0]!.from, to: steps.at(-1)!.to }
  return (
    <>
      <dl class="figures">
        <Figure name="Charged" note={<Before of={total.cost} before={was.cost} isAmount />}>
          <span data-figure="cost">
            <Amount value={total.cost} />
          </span>
        </Figure>
        <Figure name="Base" note={<Before of={total.base} before={was.base} isAmount />}>
          <span data-figure="base">
            <Amount value={total.base} />
          </span>
        </Figure>
        <Figure name="Markup" note={<Before of={total.markup} before={was.markup} isAmount />}>
          <span data-figure="markup">
            <Amount value={total.markup} />
          </span>
        </Figure>
        <Figure name="Calls" note={<Before of={String(total.calls)} before={String(was.calls)} />}>
          {formatCount(total.calls)}
        </Figure>
        <Figure name="Tokens in" note={`${formatCount(usage.cached)} from a cache`}>
          {formatCount(usage.prompt)}
        </Figure>
        <Figure name="Tokens out" note={`${formatCount(usage.reasoning)} reasoning`}>
          {formatCount(usage.completion)}
        </Figure>
      </dl>
      <BooksLine books={reply.books} cost={total.cost} />
      <p class="hint">
        {rangeText(reply, times)}, compared with {rangeText(reply, before)}. Times are in {zone}
        {zone !== askedZone && <>: sums of one account, by account and by key are kept for days in UTC</>}.
      </p>
      {reply.behindMs !== undefined && (
        <p class="hint">A replica of the ledger answered, {formatDuration(reply.behindMs)} behind it.</p>
      )}
      <Chart
        steps={steps.map((step) => stepText(reply, step))}
        series={seriesOf(reply, split, measure)}
        total={split === 'none' && measure === 'calls' ? undefined : totalOf(reply, measure)}
        before={beforeOf(reply, measure)}
        unit={unit}
        description={`${unit} by ${STEP_NAMES[reply.length]}${split === 'none' ? '' : ` and ${split}`}. The arrow keys read each ${STEP_NAMES[reply.length]}; the table below has the figures.`}
      />
    </>
  )
}

function BooksLine({ books, cost }: { books: SpendReply['books']; cost: string }) {
  const kept = Number(books.kept) === 0 ? undefined : books.kept
  if (!books.isEqual) {
    return (
      <Notice title="These totals do not agree with the ledger's postings." tone="bad">
        The calls add up to {cost}, the postings to {books.paid}. Have an operator verify the books, and do
        not bill from this page until the difference is explained.
      </Notice>
    )
  }
  return (
    <p class="books" data-books="equal">
      Equal to the ledger to the last digit: its postings debited <Amount value={books.debited} unit /> from
      payers
      {kept !== undefined && (
        <>
          , and payers owed <Amount value={kept} /> to themselves
        </>
      )}
      .
    </p>
  )
}

interface Figures {
  readonly calls: number
  readonly cost: string
  readonly tokens: number
}

const textOf = (figures: Figures | undefined, measure: Measure): string =>
  measure === 'cost' ? (figures?.cost ?? '0') : formatCount(figures?.[measure] ?? 0)

/** The charges of each group, the largest at the bottom; or of all, in the parts of an amount or of tokens. */
function seriesOf(reply: SpendOverTimeReply, split: Split, measure: Measure): readonly ChartSeries[] {
  const { groups, parts, steps } = reply
  if (split === 'none') {
    const whole = (name: string, figures: readonly (string | number)[]): ChartSeries => ({
      name,
      values: figures.map(Number),
      figureAt: (step) => {
        const figure = figures[step]!
        return typeof figure === 'string' ? figure : formatCount(figure)
      },
    })
    const ways: Readonly<Record<Measure, () => readonly ChartSeries[]>> = {
      cost: () => [
        whole(
          'Base',
          steps.map(({ base }) => base),
        ),
        whole(
          'Markup',
          steps.map(({ markup }) => markup),
        ),
      ],
      calls: () => [
        whole(
          'Calls',
          steps.map(({ calls }) => calls),
        ),
      ],
      tokens: () => [
        whole(
          'In',
          steps.map(({ usage }) => usage.prompt),
        ),
        whole(
          'Out',
          steps.map(({ usage }) => usage.completion),
        ),
      ],
    }
    return ways[measure]()
  }
  const partOf = (group: number | undefined) => {
    const own = new Map(parts.filter((part) => part.group === group).map((part) => [part.step, part]))
    return {
      values: steps.map((_, step) => Number(own.get(step)?.[measure] ?? 0)),
      figureAt: (step: number) => textOf(own.get(step), measure),
    }
  }
  const hasOthers = parts.some(({ group }) => group === undefined)
  return [
    ...groups.map(({ key, name }, group) => ({ name: name ?? key ?? NONE[split], ...partOf(group) })),
    ...(hasOthers ? [{ name: 'All others', isRest: true, ...partOf(undefined) }] : []),
  ]
}

function totalOf({ steps }: SpendOverTimeReply, measure: Measure): ChartSeries {
  const figures = steps.map(({ calls, cost, usage }) => ({
    calls,
    cost,
    tokens: usage.prompt + usage.completion,
  }))
  return {
    name: 'Total',
    values: figures.map((figure) => Number(figure[measure])),
    figureAt: (step) => textOf(figures[step], measure),
  }
}

function beforeOf({ before, steps }: SpendOverTimeReply, measure: Measure): ChartSeries | undefined {
  if (before.total.calls === 0) return undefined
  const own = new Map(before.steps.map((figures) => [figures.step, figures]))
  return {
    name: 'Period before',
    values: steps.map((_, step) => Number(own.get(step)?.[measure] ?? 0)),
    figureAt: (step) => textOf(own.get(step), measure),
  }
}

type Sums = Omit<SpendRow, 'key' | 'name'>

/** The figures of the chart; and of all calls, all sums. */
function StepTable(props: { reply: SpendOverTimeReply; split: Split; measure: Measure; unit: string }) {
  const { reply, split, measure, unit } = props
  const name = STEP_NAMES[reply.length]
  const rows = reply.steps.map((sums, step) => ({ ...sums, step })).toReversed()
  const figure = ({ name, figureAt }: ChartSeries): Column<(typeof rows)[number]> => ({
    head: name,
    isNumber: true,
    cell: ({ step }) => (measure === 'cost' ? <Amount value={figureAt(step)} /> : figureAt(step)),
  })
  const columns =
    split === 'none'
      ? sumColumns(reply.total)
      : [totalOf(reply, measure), ...seriesOf(reply, split, measure)].map(figure)
  return (
    <Table
      caption={split === 'none' ? `Spend by ${name}` : `Spend by ${name} and ${split}, in ${unit}`}
      rows={rows}
      keyOf={({ from }) => String(from)}
      columns={[
        {
          head: capitalized(name),
          cell: (step) => stepText(reply, step).title,
          ...(split === 'none' && { foot: 'Total' }),
        },
        ...columns,
      ]}
    />
  )
}

/** The same time in one row for each group, the most expensive first. */
function Groups(props: {
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
            caption={`Spend by ${by}`}
            columns={[
              {
                head: capitalized(by),
                cell: (row) => (
                  <>
                    {row.name !== undefined && <span>{row.name} </span>}
                    <Id of={row.key ?? NONE[by]} />
                  </>
                ),
                foot: 'Total',
              },
              ...sumColumns(total),
            ]}
            rows={rows}
            keyOf={(row) => row.key ?? ''}
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
    cell: (row) => <Amount value={row[of]} />,
    foot: <Amount value={total[of]} />,
  })
  const tokens = (head: string, of: 'prompt' | 'cached' | 'completion' | 'reasoning'): Column<Sums> => ({
    head,
    isNumber: true,
    cell: (row) => formatCount(row.usage[of]),
    foot: formatCount(total.usage[of]),
  })
  return [
    { head: 'Calls', isNumber: true, cell: (row) => formatCount(row.calls), foot: formatCount(total.calls) },
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
