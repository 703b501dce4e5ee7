import type { HomeReply } from '../../protocol.js'
import { formatCount, formatDuration } from '../base/format.js'
import { hrefOf } from '../base/place.js'
import { Facts, Id, Time } from '../parts/basics.js'
import { problemsSince } from '../parts/home-links.js'
import { Panel, Ranking } from '../parts/panels.js'
import { Table } from '../parts/table.js'
import { healthColumns } from './live.js'
import { RouteName } from './routes.js'

export function Failures({ of: { failures, today } }: { of: HomeReply }) {
  return (
    <Panel
      title="Failures by cause"
      href={problemsSince(today.from)}
      hint={
        failures.isCut ? (
          <>
            The newest {formatCount(failures.count)} of today, since <Time at={failures.since} />.
          </>
        ) : (
          'Today: calls that failed or were refused, and those that clients left.'
        )
      }
    >
      <Ranking
        none="None today."
        rows={failures.causes.slice(0, CAUSES_SHOWN).map(({ outcome, count }) => ({
          key: outcome,
          name: CAUSES[outcome] ?? outcome,
          href: problemsSince(today.from, outcome),
          figure: formatCount(count),
          part: count,
        }))}
      />
      {failures.causes.length > CAUSES_SHOWN && (
        <p class="hint">And {formatCount(failures.causes.length - CAUSES_SHOWN)} more causes.</p>
      )}
    </Panel>
  )
}

const CAUSES_SHOWN = 8
/** The other outcomes are error codes. */
const CAUSES: Readonly<Record<string, string>> = {
  completed: 'completed without a charge',
  'client-left': 'client left',
}

export function FirstToken({ of: { firstToken } }: { of: HomeReply }) {
  const { calls, measured, since, medianMs, slowMs } = firstToken
  return (
    <Panel
      title="First token"
      href={hrefOf('calls', { view: 'all' })}
      hint={
        measured > 0 && (
          <>
            Of the newest {formatCount(calls)} calls, since <Time at={since} />: the wait of the{' '}
            {formatCount(measured)} that have one.
          </>
        )
      }
    >
      {medianMs === undefined || slowMs === undefined ? (
        <p class="none">
          {calls === 0 ? 'The database keeps no calls.' : 'None of the newest calls has a first token.'}
        </p>
      ) : (
        <Facts
          of={[
            ['Half of them, at most', formatDuration(medianMs)],
            ['19 of 20, at most', formatDuration(slowMs)],
          ]}
        />
      )}
    </Panel>
  )
}

export function Routes({ of: { routes } }: { of: HomeReply }) {
  return (
    <Panel
      title="Routes"
      href={hrefOf('routes')}
      isWide
      hint={
        routes.count > routes.shown.length &&
        `${routes.shown.length} of ${formatCount(routes.count)}: those that fail, then those with the newest errors.`
      }
    >
      {routes.count === 0 ? (
        <p class="none">There is no route in the database, and no call on any other has ended.</p>
      ) : (
        <Table
          caption="Routes and their health"
          rows={routes.shown}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Route', cell: (route) => <RouteName of={route} /> },
            { head: 'Model', cell: ({ model }) => <Id of={model} /> },
            ...healthColumns.map((column) => ({
              ...column,
              cell: ({ health }: HomeReply['routes']['shown'][number]) => column.cell(health),
            })),
          ]}
        />
      )}
    </Panel>
  )
}
