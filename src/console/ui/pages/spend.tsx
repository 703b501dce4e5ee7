import type { SpendOverTimeReply, SpendReply } from '../../protocol.js'
import { pathOf } from '../base/api.js'
import { formatCount, formatDuration } from '../base/format.js'
import { changeQuery, hrefOf, type Place } from '../base/place.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Choice, Figure, PageHead } from '../parts/basics.js'
import { Chart } from '../parts/chart.js'
import { Before } from '../parts/comparison.js'
import { daySpecs, Filters, useSubjectSpecs } from '../parts/filters.js'
import { Empty, Listing, Notice } from '../parts/notice.js'
import { RangeChoice } from '../parts/range-choice.js'
import { rangeQueryOf, rangeText, STEP_NAMES, stepText } from '../parts/steps.js'
import { TableHead } from '../parts/table.js'
import { Amount } from '../parts/values.js'
import { beforeOf, type Measure, type Split, seriesOf, totalOf } from './spend-series.js'
import { Groups, StepTable } from './spend-tables.js'

const SPLITS: readonly { readonly value: Split; readonly label: string }[] = [
  { value: 'none', label: 'All calls' },
  { value: 'model', label: 'Model' },
  { value: 'app', label: 'App' },
  { value: 'key', label: 'Key' },
  { value: 'account', label: 'Account' },
  { value: 'provider', label: 'Provider' },
]

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
