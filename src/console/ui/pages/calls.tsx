import type { EntryView } from '../../protocol.js'
import { pathOf, write } from '../base/api.js'
import { formatCount } from '../base/format.js'
import { changeQuery, hrefOf } from '../base/place.js'
import { randomId } from '../base/random-id.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Button, Choice, Id, PageHead, Time } from '../parts/basics.js'
import { CallDetail, EndBadge } from '../parts/call-detail.js'
import { daySpecs, Filters, setSpecs, useSubjectSpecs } from '../parts/filters.js'
import { Empty, Listing } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { Table, TableHead } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'
import { Amount } from '../parts/values.js'
import {
  type CallsProps,
  callSpec,
  entriesQuestionOf,
  entrySpec,
  keySpec,
  questionOf,
  referenceSpec,
} from './call-filters.js'
import { Events } from './events.js'
import { KeptCalls } from './kept-calls.js'

type View = 'ledger' | 'payments' | 'all' | 'problems' | 'events'

const VIEWS: readonly { readonly value: View; readonly label: string }[] = [
  { value: 'ledger', label: 'Ledger' },
  { value: 'payments', label: 'Payments' },
  { value: 'all', label: 'All calls' },
  { value: 'problems', label: 'Problems' },
  { value: 'events', label: 'Recent events' },
]

export function Calls({ query }: CallsProps) {
  const view = VIEWS.find(({ value }) => value === query.view)?.value ?? 'ledger'
  const isPayments = view === 'payments'
  return (
    <>
      <PageHead
        title="Calls"
        lead="The entries of the ledger, and how calls ended, refusals and failures included."
      />
      <div class="toolbar">
        <Choice label="Show" options={VIEWS} value={view} onChange={(view) => changeQuery({ view })} />
      </div>
      {(view === 'ledger' || isPayments) && <Ledger key={view} query={query} isPayments={isPayments} />}
      {view === 'events' && <Events query={query} />}
      {(view === 'all' || view === 'problems') && (
        <KeptCalls key={view} query={query} isProblems={view === 'problems'} />
      )}
    </>
  )
}

function Ledger({ query, isPayments }: CallsProps & { isPayments: boolean }) {
  const question = entriesQuestionOf(query, isPayments)
  const pages = usePages(question)
  const calls = useLoad('entries', { ...question, after: pages.after })
  const specs = useSubjectSpecs()
  const isNarrowed = Object.values(questionOf(query)).some((value) => value !== undefined)
  const none = isPayments ? 'There is no credit, correction or refund yet.' : 'The ledger is empty.'
  return (
    <>
      <Filters
        specs={[
          ...specs,
          keySpec,
          callSpec,
          { name: 'sessionId', label: 'Session' },
          referenceSpec,
          ...daySpecs,
          ...setSpecs(query, [entrySpec]),
        ]}
        query={query}
      />
      <Listing what="the ledger" loaded={calls}>
        {({ entries, next }) => (
          <>
            {entries.length === 0 ? (
              <Empty title={isNarrowed ? 'No entry matches these filters.' : none}>
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
              <>
                <TableHead
                  title={isPayments ? 'Payments' : 'Entries'}
                  count={undefined}
                  csv={pathOf('entries.csv', question)}
                />
                <p class="hint">Times and days are in UTC.</p>
                <EntryTable entries={entries} query={query} reload={calls.reload} />
              </>
            )}
            <Pager pages={pages} next={next} />
          </>
        )}
      </Listing>
    </>
  )
}

function EntryTable(props: CallsProps & { entries: readonly EntryView[]; reload: () => void }) {
  const { entries, query, reload } = props
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
        const posted = await write('entries/refund', {
          entryId: id,
          reference,
          amount: values.text('amount'),
          memo: values.text('memo'),
        })
        return `Refunded ${posted.entry.refund?.amount} credits. ${facts?.account} has ${posted.account.available} credits now.`
      },
    })
  }
  const { call, entry } = query
  const opened = entries.find(({ id, facts }) => id === entry || (call && facts?.requestId === call))
  return (
    <Table
      isOneLine
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
export function amountOf({ charge, refund, amount, postings }: EntryView): string {
  return charge?.cost ?? (refund && `-${refund.amount}`) ?? amount ?? postings[0]?.amount ?? '0'
}

export function What({ entry: { kind, facts, memo } }: { entry: EntryView }) {
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
      <Badge tone={kind === 'credit' ? 'good' : 'warn'}>{name}</Badge> {memo}
    </>
  )
}
