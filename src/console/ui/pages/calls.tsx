import type { EntryView, EventView } from '../../protocol/index.js'
import { pathOf, write } from '../base/api.js'
import { DAY_MS, dayStart, formatCount } from '../base/format.js'
import { changeQuery, hrefOf, type Place } from '../base/place.js'
import { randomId } from '../base/random-id.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Amount } from '../parts/amount.js'
import { Badge, Button, Choice, Id, PageHead, Time } from '../parts/basics.js'
import { CallDetail, EndBadge } from '../parts/call-detail.js'
import type { FieldSpec } from '../parts/fields.js'
import { daySpecs, Filters, useSubjectSpecs } from '../parts/filters.js'
import { Empty, Listing } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { optional } from '../parts/read-values.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'

type View = 'ledger' | 'events' | 'problems'

const VIEWS: readonly { readonly value: View; readonly label: string }[] = [
  { value: 'ledger', label: 'Ledger' },
  { value: 'events', label: 'Recent events' },
  { value: 'problems', label: 'Problems' },
]

const callSpec: FieldSpec = { name: 'call', label: 'Request id' }

interface CallsProps {
  readonly query: Place['query']
}

export function Calls({ query }: CallsProps) {
  const view = VIEWS.find(({ value }) => value === query.view)?.value ?? 'ledger'
  const question = questionOf(query)
  return (
    <>
      <PageHead
        title="Calls"
        lead="The entries of the ledger, and the latest events that this process remembers. Times and days are in UTC."
      >
        {view === 'ledger' && (
          <a class="button" href={pathOf('api/calls.csv', question)} download>
            Download CSV
          </a>
        )}
      </PageHead>
      <div class="toolbar">
        <Choice
          label="Show"
          options={VIEWS}
          value={view}
          onChange={(value) => changeQuery({ view: value })}
        />
      </div>
      {view === 'ledger' ? (
        <Ledger query={query} />
      ) : (
        <Events query={query} isProblems={view === 'problems'} />
      )}
    </>
  )
}

function questionOf({ account, model, appId, key, call, sessionId, fromDay, toDay }: Place['query']) {
  const [from, to] = [dayStart(fromDay), dayStart(toDay)]
  return {
    ...(account ? { account } : {}),
    ...(model ? { model } : {}),
    ...(appId ? { appId } : {}),
    ...(key ? { key } : {}),
    ...(call ? { requestId: call } : {}),
    ...(sessionId ? { sessionId } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to: to + DAY_MS }),
  }
}

function Ledger({ query }: CallsProps) {
  const question = questionOf(query)
  const pages = usePages(JSON.stringify(question))
  const { after } = pages
  const calls = useLoad('api/calls', { ...question, ...(after === undefined ? {} : { after }) })
  const specs = useSubjectSpecs()
  const isNarrowed = Object.keys(question).length > 0
  return (
    <>
      <Filters
        specs={[
          ...specs,
          { name: 'key', label: 'Key id' },
          callSpec,
          { name: 'sessionId', label: 'Session' },
          ...daySpecs,
        ]}
        query={query}
      />
      <Listing what="the ledger" loaded={calls}>
        {({ entries, next }) => (
          <>
            {entries.length === 0 ? (
              <Empty title={isNarrowed ? 'No entry matches these filters.' : 'The ledger is empty.'}>
                {isNarrowed ? (
                  <>
                    {query.call && (
                      <>
                        Nothing was charged for this request, or not yet: see{' '}
                        <a href={hrefOf('calls', { view: 'events', call: query.call })}>how it went</a>.{' '}
                      </>
                    )}
                    Clear a filter, or choose more days.
                  </>
                ) : (
                  <>
                    Send a message in the <a href={hrefOf('playground')}>playground</a>: its charge will
                    appear here.
                  </>
                )}
              </Empty>
            ) : (
              <EntryTable entries={entries} call={query.call} reload={calls.reload} />
            )}
            <Pager pages={pages} next={next} />
          </>
        )}
      </Listing>
    </>
  )
}

interface EntryTableProps {
  readonly entries: readonly EntryView[]
  readonly call: string | undefined
  readonly reload: () => void
}

function EntryTable({ entries, call, reload }: EntryTableProps) {
  const isForOperator = isOperator(useSession().viewer)
  const actions = useActions(reload)
  const refund = ({ id, charge, facts }: EntryView): void => {
    // One reference for all attempts in this dialog: an attempt whose reply was lost may have been posted.
    const reference = randomId()
    actions.form({
      title: `Refund the charge ${id}`,
      intro: `Reverses the charge of ${charge?.cost} credits, or a part of it, in a posting of its own. The payer gets it back from the accounts that earned it.`,
      action: 'Refund',
      fields: [
        {
          name: 'amount',
          label: 'Credits',
          hint: 'All that is left of the charge by default. The decimal sign is a point: 1.000 is one.',
        },
        { name: 'memo', label: 'Memo' },
      ],
      run: async (values) => {
        const posted = await write('api/calls/refund', {
          entryId: id,
          reference,
          ...optional(values, 'amount'),
          ...optional(values, 'memo'),
        })
        return `Refunded ${posted.entry.refund?.amount} credits. ${facts?.account} has ${posted.account.available} credits now.`
      },
    })
  }
  const opened = call ? entries.find(({ facts }) => facts?.requestId === call) : undefined
  return (
    <Table
      caption="Entries of the ledger, newest first"
      rows={entries}
      keyOf={({ id }) => id}
      openKey={opened?.id}
      columns={[
        { head: 'Time', cell: ({ at }) => <Time at={at} /> },
        { head: 'What', cell: (entry) => <What entry={entry} /> },
        {
          head: 'Account',
          cell: ({ facts, postings }) => <Id of={facts?.account ?? postings[0]?.account} />,
        },
        { head: 'Provider', cell: ({ facts }) => facts?.provider ?? '–' },
        {
          head: 'Tokens',
          isNumber: true,
          cell: ({ charge }) =>
            charge === undefined
              ? '–'
              : `${formatCount(charge.usage.prompt)} in, ${formatCount(charge.usage.completion)} out`,
        },
        { head: 'Charge', isNumber: true, cell: (entry) => <Amount value={amountOf(entry)} /> },
        {
          head: 'Ended',
          cell: ({ kind, explanation }) =>
            explanation === undefined ? kind === 'charge' ? 'posted' : '–' : <EndBadge of={explanation} />,
        },
      ]}
      detail={(entry) => (
        <>
          <CallDetail {...entry} />
          {isForOperator && entry.charge !== undefined && (
            <div class="actions">
              <Button onPress={() => refund(entry)} of={`of ${entry.id}`}>
                Refund
              </Button>
            </div>
          )}
        </>
      )}
    />
  )
}

/** In the column of charges, a refund is below 0. */
function amountOf({ charge, refund, amount, postings }: EntryView): string {
  return charge?.cost ?? (refund && `-${refund.amount}`) ?? amount ?? postings[0]?.amount ?? '0'
}

function What({ entry: { kind, facts, memo } }: { entry: EntryView }) {
  if (kind === 'charge' && facts !== undefined) return <Id of={facts.model} />
  if (facts !== undefined) {
    return (
      <>
        <Badge tone="warn">{kind}</Badge> <Id of={facts.model} />
      </>
    )
  }
  const name = kind === 'charge' ? 'earned from a call' : kind
  return (
    <>
      <Badge tone={kind === 'grant' ? 'good' : 'warn'}>{name}</Badge> {memo}
    </>
  )
}

function Events({ query, isProblems }: CallsProps & { isProblems: boolean }) {
  const { account, model, call } = query
  const events = useLoad('api/events', {
    ...(account ? { account } : {}),
    ...(model ? { model } : {}),
    ...(call ? { requestId: call } : {}),
    ...(isProblems ? { problems: true } : {}),
    limit: 200,
  })
  const specs = useSubjectSpecs({ hasApp: false })
  const isNarrowed = [account, model, call].some(Boolean)
  const none = isProblems
    ? 'Nothing has gone wrong lately.'
    : 'Nothing has happened since the server started.'
  return (
    <>
      <Filters specs={[...specs, callSpec]} query={query} />
      <Listing what="events" loaded={events}>
        {({ events: found, capacity, completedASecond, unauthenticated }) =>
          found.length === 0 ? (
            <Empty title={isNarrowed ? 'No event matches these filters.' : none}>
              {isProblems
                ? 'Refusals, errors and clients that left will appear here.'
                : 'Calls appear here when they end, including those that were refused.'}
            </Empty>
          ) : (
            <>
              <EventTable events={found} call={query.call} />
              <p class="hint">
                The newest {formatCount(found.length)}. The server keeps {formatCount(capacity)} in memory,
                with at most {formatCount(completedASecond)} completed calls per second, and{' '}
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
