import type { EventView } from '../../protocol.js'
import { formatCount } from '../base/format.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Id, Time } from '../parts/basics.js'
import { CallDetail, EndBadge } from '../parts/call-detail.js'
import { Filters, useSubjectSpecs } from '../parts/filters.js'
import { Empty, Listing } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import { Amount } from '../parts/values.js'
import { type CallsProps, callSpec } from './call-filters.js'

/** Other events that this process has reported. */
export function Incidents({ query: { account, call } }: CallsProps) {
  const events = useLoad('events', {
    account,
    requestId: call,
    problems: 'true',
    limit: 200,
  })
  const found = events.data?.events.filter(({ type }) => type !== 'request-end') ?? []
  if (found.length === 0) return null
  return (
    <section>
      <h2>Reported by this process</h2>
      <EventTable events={found} call={call} />
    </section>
  )
}

/** The events that this process remembers. */
export function Events({ query }: CallsProps) {
  const { account, model, call } = query
  const events = useLoad('events', {
    account,
    model,
    requestId: call,
    limit: 200,
  })
  const specs = useSubjectSpecs({ hasApp: false })
  const isNarrowed = [account, model, call].some(Boolean)
  return (
    <>
      <Filters specs={[...specs, callSpec]} query={query} />
      <Listing what="events" loaded={events}>
        {({ events: found, capacity, completedASecond, unauthenticated }) =>
          found.length === 0 ? (
            <Empty
              title={
                isNarrowed
                  ? 'No event matches these filters.'
                  : 'Nothing has happened since the server started.'
              }
            >
              Calls appear here when they end, including those that were refused.
            </Empty>
          ) : (
            <>
              <EventTable events={found} call={query.call} />
              <p class="hint">
                The newest {formatCount(found.length)} of this process. It keeps {formatCount(capacity)} in
                memory, with at most {formatCount(completedASecond)} completed calls per second, and{' '}
                {formatCount(unauthenticated)} requests that did not authenticate.
              </p>
            </>
          )
        }
      </Listing>
    </>
  )
}

function EventTable({ events, call }: { events: readonly EventView[]; call: string | undefined }) {
  const opened = call === undefined ? undefined : events.find(({ requestId }) => requestId === call)
  return (
    <Table
      caption="Events, newest first"
      rows={events}
      keyOf={(event) => String(event.number)}
      openKey={opened === undefined ? undefined : String(opened.number)}
      columns={[
        { head: 'Time', cell: ({ at }) => <Time at={at} /> },
        {
          head: 'What',
          cell: ({ type, explanation }) =>
            explanation === undefined ? <Badge tone="warn">{type}</Badge> : <EndBadge of={explanation} />,
        },
        { head: 'Model', cell: ({ facts }) => <Id of={facts?.model} /> },
        { head: 'Account', cell: ({ account }) => account ?? '–' },
        ...(events.some(({ message }) => message !== undefined)
          ? [{ head: 'Message', cell: ({ message }: EventView) => message ?? '–' }]
          : []),
        {
          head: 'Charge',
          isNumber: true,
          cell: ({ charge }) => (charge === undefined ? '–' : <Amount value={charge.cost} />),
        },
      ]}
      detail={(event) => <CallDetail {...event} />}
    />
  )
}
