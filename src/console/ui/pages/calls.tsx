import type { EntryView, EventView, KeptCallView } from '../../protocol/index.js'
import { pathOf, write } from '../base/api.js'
import { DAY_MS, dayStart, formatCount, formatDuration } from '../base/format.js'
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

type View = 'ledger' | 'all' | 'problems' | 'events'

const VIEWS: readonly { readonly value: View; readonly label: string }[] = [
  { value: 'ledger', label: 'Ledger' },
  { value: 'all', label: 'All calls' },
  { value: 'problems', label: 'Problems' },
  { value: 'events', label: 'Recent events' },
]

const callSpec: FieldSpec = { name: 'call', label: 'Request id' }
const keySpec: FieldSpec = { name: 'key', label: 'Key id' }
const endSpecs: readonly FieldSpec[] = [
  { name: 'status', label: 'Status', placeholder: '502' },
  { name: 'outcome', label: 'Error code', placeholder: 'provider_error' },
]

interface CallsProps {
  readonly query: Place['query']
}

export function Calls({ query }: CallsProps) {
  const view = VIEWS.find(({ value }) => value === query.view)?.value ?? 'ledger'
  const csv =
    view === 'ledger'
      ? pathOf('api/calls.csv', questionOf(query))
      : view === 'events'
        ? undefined
        : pathOf('api/kept-calls.csv', keptQuestionOf(query, view === 'problems'))
  return (
    <>
      <PageHead
        title="Calls"
        lead="The entries of the ledger, and how calls ended, refusals and failures included. Times and days are in UTC."
      >
        {csv !== undefined && (
          <a class="button" href={csv} download>
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
      {view === 'ledger' && <Ledger query={query} />}
      {view === 'events' && <Events query={query} />}
      {(view === 'all' || view === 'problems') && (
        <KeptCalls key={view} query={query} isProblems={view === 'problems'} />
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

function keptQuestionOf(query: Place['query'], isProblems: boolean) {
  const { sessionId: _, ...question } = questionOf(query)
  const { outcome, status } = query
  return {
    ...question,
    ...(status ? { status } : {}),
    ...(outcome ? { outcome } : {}),
    ...(isProblems ? { problems: true } : {}),
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
        specs={[...specs, keySpec, callSpec, { name: 'sessionId', label: 'Session' }, ...daySpecs]}
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
                        <a href={hrefOf('calls', { view: 'all', call: query.call })}>how it went</a>.{' '}
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

function KeptCalls({ query, isProblems }: CallsProps & { isProblems: boolean }) {
  const question = keptQuestionOf(query, isProblems)
  const pages = usePages(JSON.stringify(question))
  const { after } = pages
  const calls = useLoad('api/kept-calls', { ...question, ...(after === undefined ? {} : { after }) })
  const specs = useSubjectSpecs()
  const isNarrowed = Object.keys(question).some((name) => name !== 'problems')
  const none = isProblems ? 'Nothing has gone wrong.' : 'No call has ended yet.'
  return (
    <>
      <Filters specs={[...specs, keySpec, callSpec, ...endSpecs, ...daySpecs]} query={query} />
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
              <KeptCallTable calls={found} call={query.call} />
            )}
            <Pager pages={pages} next={next} />
          </>
        )}
      </Listing>
      {isProblems && <Incidents query={query} />}
    </>
  )
}

function KeptCallTable({ calls, call }: { calls: readonly KeptCallView[]; call: string | undefined }) {
  return (
    <Table
      caption="Calls, newest first"
      rows={calls}
      keyOf={({ key }) => key}
      openKey={call ? calls.find(({ requestId }) => requestId === call)?.key : undefined}
      columns={[
        { head: 'Time', cell: ({ at }) => <Time at={at} /> },
        { head: 'Ended', cell: ({ explanation }) => <EndBadge of={explanation} /> },
        { head: 'Model', cell: ({ askedModel, facts }) => <Id of={facts?.model ?? askedModel} /> },
        { head: 'Account', cell: ({ account }) => account ?? '–' },
        {
          head: 'Key',
          cell: ({ caller, facts }) => {
            const owner = facts ?? caller
            return owner?.credentialLabel ?? <Id of={owner?.credentialId} />
          },
        },
        { head: 'App', cell: ({ caller, facts }) => <Id of={(facts ?? caller)?.appId} /> },
        {
          head: 'First token',
          isNumber: true,
          cell: ({ explanation: { firstTokenMs } }) =>
            firstTokenMs === undefined ? '–' : formatDuration(firstTokenMs),
        },
        {
          head: 'Duration',
          isNumber: true,
          cell: ({ explanation }) => formatDuration(explanation.durationMs),
        },
        {
          head: 'Charge',
          isNumber: true,
          cell: ({ charge }) => (charge === undefined ? '–' : <Amount value={charge.cost} />),
        },
      ]}
      detail={(row) => <CallDetail {...row} />}
    />
  )
}

/** Other events that this process has reported. */
function Incidents({ query: { account, call } }: CallsProps) {
  const events = useLoad('api/events', {
    ...(account ? { account } : {}),
    ...(call ? { requestId: call } : {}),
    problems: true,
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

function Events({ query }: CallsProps) {
  const { account, model, call } = query
  const events = useLoad('api/events', {
    ...(account ? { account } : {}),
    ...(model ? { model } : {}),
    ...(call ? { requestId: call } : {}),
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
