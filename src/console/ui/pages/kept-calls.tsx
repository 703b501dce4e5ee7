import type { CallView } from '../../protocol.js'
import { pathOf } from '../base/api.js'
import { formatDuration } from '../base/format.js'
import { useLoad } from '../base/use-load.js'
import { Id, Time } from '../parts/basics.js'
import { CallDetail, EndBadge } from '../parts/call-detail.js'
import type { FieldSpec } from '../parts/fields.js'
import { daySpecs, Filters, setSpecs, useSubjectSpecs } from '../parts/filters.js'
import { Empty, Listing } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { rangeQueryOf } from '../parts/steps.js'
import { Table, TableHead } from '../parts/table.js'
import { Amount } from '../parts/values.js'
import { CallChart, CallChartChoices, ChosenStep, chosenStep, countOf, useCallChart } from './call-chart.js'
import { type CallsProps, callSpec, idSpec, keptQuestionOf, keySpec } from './call-filters.js'
import { Incidents } from './events.js'

const endSpecs: readonly FieldSpec[] = [
  { name: 'status', label: 'Status', placeholder: '502' },
  { name: 'outcome', label: 'Error code', placeholder: 'provider_error' },
]

/** How calls ended, in all processes. */
export function KeptCalls({ query, isProblems }: CallsProps & { isProblems: boolean }) {
  const chart = useCallChart(query, isProblems)
  const { zone } = rangeQueryOf(query)
  const step = chosenStep(query, chart.data)
  // All calls that are kept, unless a time was chosen.
  const hasTime = ['range', 'fromDay', 'toDay', 'at'].some((name) => query[name])
  const steps = chart.data?.steps
  const times = hasTime ? { from: (step ?? steps?.[0])?.from, to: (step ?? steps?.at(-1))?.to } : {}
  const question = { ...keptQuestionOf(query, isProblems), ...times }
  const pages = usePages(question)
  const calls = useLoad(
    'calls',
    { ...question, after: pages.after },
    { isOff: hasTime && steps === undefined },
  )
  const specs = useSubjectSpecs()
  const isNarrowed = Object.entries(question).some(
    ([name, value]) => name !== 'problems' && value !== undefined,
  )
  const none = isProblems ? 'Nothing has gone wrong.' : 'No call has ended yet.'
  return (
    <>
      <Filters
        specs={[...specs, keySpec, callSpec, ...endSpecs, ...daySpecs, ...setSpecs(query, [idSpec])]}
        query={query}
      />
      <CallChartChoices query={query} isProblems={isProblems} />
      <Listing what="the chart" loaded={chart}>
        {(reply) => (
          <>
            {reply.calls > 0 && !query.id && (
              <CallChart query={query} isProblems={isProblems} reply={reply} />
            )}
            <ChosenStep reply={reply} step={step} />
          </>
        )}
      </Listing>
      <Listing what="calls" loaded={calls}>
        {({ calls: found, next }) => (
          <>
            {found.length === 0 ? (
              <Empty title={isNarrowed ? 'No call matches these filters.' : none}>
                {isProblems
                  ? 'Refusals, errors and clients that left will appear here.'
                  : 'Calls appear here when they end, including those that were refused.'}
              </Empty>
            ) : (
              <>
                <TableHead
                  title={isProblems ? 'Problems' : 'Calls'}
                  count={countOf(chart.data, step, hasTime)}
                  csv={pathOf('calls.csv', question)}
                />
                <KeptCallTable
                  calls={found}
                  query={query}
                  zone={zone}
                  isPage={next !== undefined || pages.number > 1}
                />
              </>
            )}
            <Pager pages={pages} next={next} />
          </>
        )}
      </Listing>
      {isProblems && <Incidents query={query} />}
    </>
  )
}

/** In UTC, unless a time zone is given. */
export function KeptCallTable(
  props: CallsProps & { calls: readonly CallView[]; zone?: string; isPage?: boolean },
) {
  const { calls, zone, isPage = true } = props
  const { call, id } = props.query
  const opened = calls.find(({ key, requestId }) => key === id || (call && requestId === call))
  return (
    <Table
      isOneLine
      caption="Calls, newest first"
      rows={calls}
      keyOf={({ key }) => key}
      openKey={opened?.key}
      isPage={isPage}
      columns={[
        { head: 'Time', cell: ({ at }) => <Time at={at} {...(zone !== undefined && { zone })} /> },
        { head: 'Ended', cell: ({ explanation }) => <EndBadge of={explanation} /> },
        { head: 'Model', cell: ({ askedModel, facts }) => <Id of={facts?.model ?? askedModel} /> },
        { head: 'Account', cell: ({ account }) => account ?? '–' },
        {
          head: 'Key',
          cell: ({ caller, facts }) => {
            const owner = facts ?? caller
            const label = owner?.credentialLabel
            return label === undefined ? <Id of={owner?.credentialId} /> : <span title={label}>{label}</span>
          },
        },
        { head: 'App', cell: ({ caller, facts }) => <Id of={(facts ?? caller)?.appId} /> },
        {
          head: 'First token',
          isNumber: true,
          sortBy: ({ explanation }) => explanation.firstTokenMs,
          cell: ({ explanation: { firstTokenMs } }) =>
            firstTokenMs === undefined ? '–' : formatDuration(firstTokenMs),
        },
        {
          head: 'Duration',
          isNumber: true,
          sortBy: ({ explanation }) => explanation.durationMs,
          cell: ({ explanation }) => formatDuration(explanation.durationMs),
        },
        {
          head: 'Charge',
          isNumber: true,
          sortBy: ({ charge }) => charge?.cost,
          cell: ({ charge }) => (charge === undefined ? '–' : <Amount value={charge.cost} />),
        },
      ]}
      detail={(row) => <CallDetail {...row} />}
    />
  )
}
