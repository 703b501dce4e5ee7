import type { SpendBy, SpendReply, SpendRow } from '../../protocol.js'
import { pathOf } from '../base/api.js'
import { DAY_MS, dayOf, dayStart, formatCount, formatDuration, formatShare, rangeOf } from '../base/format.js'
import { changeQuery, hrefOf, type Place } from '../base/place.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Choice, Figure, Id, PageHead } from '../parts/basics.js'
import { Chart, type ChartPoint } from '../parts/chart.js'
import { daySpecs, Filters, useSubjectSpecs } from '../parts/filters.js'
import { Empty, Listing, Notice } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { type Column, Table } from '../parts/table.js'
import { Amount } from '../parts/values.js'

const BY: readonly { readonly value: SpendBy; readonly label: string }[] = [
  { value: 'day', label: 'Day' },
  { value: 'model', label: 'Model' },
  { value: 'app', label: 'App' },
  { value: 'key', label: 'Key' },
  { value: 'account', label: 'Account' },
  { value: 'provider', label: 'Provider' },
]

const NONE: Readonly<Record<SpendBy, string>> = {
  day: 'no day',
  model: 'no model',
  app: 'without an app',
  key: 'no key',
  account: 'no account',
  provider: 'no provider',
}

const CHART_BARS = 24
const RANGES = [7, 30, 90] as const

export function Spend({ query }: { query: Place['query'] }) {
  const isForOperator = isOperator(useSession().viewer)
  // A user has one account.
  const options = BY.filter(({ value }) => isForOperator || value !== 'account')
  const by = options.find(({ value }) => value === query.by)?.value ?? 'day'
  const { account, model, appId } = query
  const question = { by, account, model, appId, ...rangeOf(query) }
  const pages = usePages(question)
  const spend = useLoad('reports/spend', { ...question, after: pages.after })
  const specs = useSubjectSpecs()
  return (
    <>
      <PageHead title="Spend" lead="Charges, from the ledger. Days are in UTC.">
        <a class="button" href={pathOf('reports/spend.csv', question)} download>
          Download CSV
        </a>
      </PageHead>
      <Filters specs={[...specs, ...daySpecs]} query={query} />
      <div class="toolbar">
        <Choice
          label="Sum by"
          options={options}
          value={by}
          onChange={(value) => changeQuery({ by: value })}
        />
        <RangeButtons query={query} />
      </div>
      <Listing what="the spend" loaded={spend}>
        {(reply) =>
          reply.rowCount === 0 ? (
            <NothingSpent query={query} />
          ) : (
            <>
              <Report reply={reply} by={by} />
              <Pager pages={pages} next={reply.next} />
            </>
          )
        }
      </Listing>
    </>
  )
}

function RangeButtons({ query }: { query: Place['query'] }) {
  const today = dayOf(Date.now())
  const since = (days: number): string => dayOf(Date.now() - (days - 1) * DAY_MS)
  const options = [
    ...RANGES.map((days) => ({ value: since(days), label: `${days} days` })),
    { value: '', label: 'All' },
  ]
  const chosen = query.toDay === undefined || query.toDay === today ? (query.fromDay ?? '') : 'other'
  return (
    <Choice
      label="Time"
      options={options}
      value={chosen}
      onChange={(fromDay) => changeQuery({ fromDay, toDay: undefined })}
    />
  )
}

function NothingSpent({ query }: { query: Place['query'] }) {
  const isNarrowed = ['account', 'model', 'appId', 'fromDay', 'toDay'].some((name) => query[name])
  return (
    <Empty title={isNarrowed ? 'No charge matches these filters.' : 'Nothing has been charged yet.'}>
      {isNarrowed ? (
        'Clear a filter, or choose more days.'
      ) : (
        <>
          Send a message in the <a href={hrefOf('playground')}>playground</a>: its cost will appear here.
        </>
      )}
    </Empty>
  )
}

function Report({ reply, by }: { reply: SpendReply; by: SpendBy }) {
  const { rows, total } = reply
  const { usage } = total
  return (
    <>
      <dl class="figures">
        <Figure name="Charged" note="credits">
          <span data-figure="cost">
            <Amount value={total.cost} />
          </span>
        </Figure>
        <Figure name="Base">
          <span data-figure="base">
            <Amount value={total.base} />
          </span>
        </Figure>
        <Figure name="Markup" note={`${formatShare(total.markup, total.cost)} of all charges`}>
          <span data-figure="markup">
            <Amount value={total.markup} />
          </span>
        </Figure>
        <Figure name="Calls">{formatCount(total.calls)}</Figure>
        <Figure name="Tokens in" note={`${formatCount(usage.cached)} from a cache`}>
          {formatCount(usage.prompt)}
        </Figure>
        <Figure name="Tokens out" note={`${formatCount(usage.reasoning)} reasoning`}>
          {formatCount(usage.completion)}
        </Figure>
      </dl>
      <BooksLine reply={reply} />
      {reply.behindMs !== undefined && (
        <p class="hint">A replica of the ledger answered, {formatDuration(reply.behindMs)} behind it.</p>
      )}
      <Chart
        points={pointsOf(rows, by)}
        isOverTime={by === 'day'}
        lowerName="Base"
        upperName="Markup"
        description={`Credits charged by ${by}, base and markup stacked; the table below has the figures.`}
      />
      {rows.length > CHART_BARS && by !== 'day' && (
        <p class="hint">The chart shows the first {CHART_BARS} rows of the table.</p>
      )}
      {reply.rowCount > rows.length && (
        <p class="hint">
          {rows.length} of {formatCount(reply.rowCount)} rows, the most expensive first. Totals cover all
          rows.
        </p>
      )}
      <Table
        caption={`Spend by ${by}`}
        columns={columnsOf(reply, by)}
        rows={rows}
        keyOf={(row) => row.key ?? ''}
      />
    </>
  )
}

function BooksLine({ reply: { books, total } }: { reply: SpendReply }) {
  const kept = Number(books.kept) === 0 ? undefined : books.kept
  if (!books.isEqual) {
    return (
      <Notice title="These totals do not agree with the ledger's postings." tone="bad">
        The calls add up to {total.cost}, the postings to {books.paid}. Have an operator verify the books, and
        do not bill from this page until the difference is explained.
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

function pointsOf(rows: readonly SpendRow[], by: SpendBy): readonly ChartPoint[] {
  const shown = by === 'day' ? rows : rows.slice(0, CHART_BARS)
  return shown.map((row, index) => ({
    x: by === 'day' ? (dayStart(row.key) ?? 0) / 1_000 : index,
    label: row.name ?? row.key ?? NONE[by],
    lower: Number(row.base),
    upper: Number(row.markup),
  }))
}

function columnsOf({ total }: SpendReply, by: SpendBy): readonly Column<SpendRow>[] {
  const amount = (head: string, of: 'cost' | 'base' | 'markup'): Column<SpendRow> => ({
    head,
    isNumber: true,
    cell: (row) => <Amount value={row[of]} />,
    foot: <Amount value={total[of]} />,
  })
  const tokens = (head: string, of: 'prompt' | 'cached' | 'completion' | 'reasoning'): Column<SpendRow> => ({
    head,
    isNumber: true,
    cell: (row) => formatCount(row.usage[of]),
    foot: formatCount(total.usage[of]),
  })
  return [
    {
      head: BY.find(({ value }) => value === by)!.label,
      cell: (row) => (
        <>
          {row.name !== undefined && <span>{row.name} </span>}
          <Id of={row.key ?? NONE[by]} />
        </>
      ),
      foot: 'Total',
    },
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
