import type { HomeReply } from '../../protocol.js'
import { DAY_MS, dayOf, dayStart, formatDuration } from '../base/format.js'
import { hrefOf } from '../base/place.js'
import { Figure, Id, Time } from '../parts/basics.js'
import { Chart, type ChartSeries } from '../parts/chart.js'
import { Before, Comparison, CountFigure, PartBefore } from '../parts/comparison.js'
import { problemsSince, spendSince } from '../parts/home-links.js'
import { Panel } from '../parts/panels.js'
import { stepText } from '../parts/steps.js'
import { Table } from '../parts/table.js'
import { Amount } from '../parts/values.js'
import { amountOf, What } from './calls.js'

export function Money({ of: { today, month, failures } }: { of: HomeReply }) {
  return (
    <>
      <section>
        <h2>Today</h2>
        <p class="hint">
          Since midnight, compared with yesterday until this time of day: <PartBefore of={today} />.
        </p>
        <Comparison of={today} href={spendSince(today.from)}>
          <CountFigure
            name="Failures"
            href={problemsSince(today.from)}
            of={failures.count}
            isCut={failures.isCut}
            before={failures.before.count}
            isBeforeCut={failures.before.isCut}
          />
        </Comparison>
      </section>
      <section>
        <h2>This month</h2>
        <p class="hint">
          Compared with the same part of the month before: <PartBefore of={month} />.
        </p>
        <Comparison of={month} href={spendSince(month.from)}>
          <Figure
            name={
              <a href={hrefOf('spend', { by: 'app', fromDay: dayOf(month.from), zone: 'UTC' })}>Markup</a>
            }
            note={<Before of={month.total.markup} before={month.before.total.markup} isAmount />}
          >
            <Amount value={month.total.markup} />
          </Figure>
        </Comparison>
        {month.behindMs !== undefined && (
          <p class="hint">A replica of the ledger answered, {formatDuration(month.behindMs)} behind it.</p>
        )}
      </section>
    </>
  )
}

export function Days({ of: { at, days } }: { of: HomeReply }) {
  const today = dayStart(dayOf(at))!
  const steps = Array.from({ length: DAYS_SHOWN }, (_, day) => today - (DAYS_SHOWN - 1 - day) * DAY_MS)
  const byDay = new Map(days.map((row) => [row.key, row]))
  const rows = steps.map((from) => byDay.get(dayOf(from)))
  const series = (name: string, of: 'cost' | 'base' | 'markup'): ChartSeries => ({
    name,
    values: rows.map((row) => Number(row?.[of] ?? 0)),
    figureAt: (step) => rows[step]?.[of] ?? '0',
  })
  return (
    <Panel
      title={`The last ${DAYS_SHOWN} days`}
      href={hrefOf('spend', { fromDay: dayOf(steps[0]!), zone: 'UTC' })}
      isWide
    >
      {days.length === 0 ? (
        <p class="none">Nothing was charged.</p>
      ) : (
        <Chart
          steps={steps.map((from) => stepText({ length: 'day', zone: 'UTC' }, { from, to: from + DAY_MS }))}
          series={[series('Base', 'base'), series('Markup', 'markup')]}
          total={series('Total', 'cost')}
          unit="credits"
          description="Credits by day. The arrow keys read each day; the page Spend has the figures as a table."
        />
      )}
    </Panel>
  )
}

const DAYS_SHOWN = 30

export function Payments({ of: { payments } }: { of: HomeReply }) {
  return (
    <Panel
      title="Payments and refunds"
      href={hrefOf('calls', { view: 'payments' })}
      isWide
      hint="The newest."
    >
      {payments.length === 0 ? (
        <p class="none">None yet.</p>
      ) : (
        <Table
          caption="Newest payments and refunds"
          rows={payments}
          keyOf={({ id }) => id}
          columns={[
            {
              head: 'Time',
              cell: ({ id, at }) => (
                <a href={hrefOf('calls', { entry: id })}>
                  <Time at={at} />
                </a>
              ),
            },
            { head: 'What', cell: (entry) => <What entry={entry} /> },
            {
              head: 'Account',
              cell: ({ facts, postings }) => <Id of={facts?.account ?? postings[0]?.account} />,
            },
            { head: 'Credits', isNumber: true, cell: (entry) => <Amount value={amountOf(entry)} /> },
          ]}
        />
      )}
    </Panel>
  )
}
