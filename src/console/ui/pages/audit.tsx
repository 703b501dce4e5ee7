import { rangeOf } from '../base/format.js'
import type { Place } from '../base/place.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Id, PageHead, Time } from '../parts/basics.js'
import { type FieldSpec, selectField } from '../parts/fields.js'
import { daySpecs, Filters } from '../parts/filters.js'
import { useFoundAccounts } from '../parts/found.js'
import { Empty, Listing } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { Table } from '../parts/table.js'

const NOUNS = ['account', 'credential', 'app', 'model', 'route', 'limit', 'entry'] as const
/** The labels of nouns whose label is another word. */
const WORDS: Readonly<Record<string, string>> = { credential: 'key', entry: 'credits' }

const specs: readonly FieldSpec[] = [
  { name: 'by', label: 'Who', placeholder: 'operator' },
  selectField('noun', 'What', '', {
    '': 'Everything',
    ...Object.fromEntries(NOUNS.map((noun) => [noun, WORDS[noun] ?? noun])),
  }),
  { name: 'subject', label: 'Its id' },
  { name: 'account', label: 'Account', useFound: useFoundAccounts },
  ...daySpecs,
]

/** Who changed money, keys, limits, routes, models and apps. */
export function Audit({ query }: { query: Place['query'] }) {
  const { by, noun, subject, account, ...days } = query
  const question = {
    by: by || undefined,
    noun: NOUNS.find((one) => one === noun),
    subjectId: subject || undefined,
    account: account || undefined,
    ...rangeOf(days),
  }
  const pages = usePages(question)
  const changes = useLoad('audit', { ...question, after: pages.after })
  const isNarrowed = Object.values(question).some((value) => value !== undefined)
  return (
    <>
      <PageHead
        title="Audit log"
        lead="Who changed credits, keys, limits, routes, models and apps. Each line was written together with its change."
      />
      <Filters specs={specs} query={query} />
      <Listing what="changes" loaded={changes}>
        {({ changes: found, next }) => (
          <>
            {found.length === 0 ? (
              <Empty
                title={isNarrowed ? 'No change matches these filters.' : 'Nobody has changed anything yet.'}
              >
                Changes from this console, the command line and the host's own code appear here.
              </Empty>
            ) : (
              <Table
                caption="Changes, newest first"
                rows={found}
                keyOf={({ id }) => id}
                detailLabel="Details"
                nameOf={({ noun: what, subjectId }) => `${WORDS[what] ?? what} ${subjectId}`}
                columns={[
                  { head: 'Time', cell: ({ at }) => <Time at={at} /> },
                  {
                    head: 'Who',
                    cell: ({ by: name, byKind }) => (byKind === 'account' ? `account ${name}` : name),
                  },
                  {
                    head: 'What',
                    cell: ({ noun: what, kind }) => <Badge>{`${WORDS[what] ?? what} ${kind}`}</Badge>,
                  },
                  { head: 'Id', cell: ({ subjectId }) => <Id of={subjectId} /> },
                  { head: 'Account', cell: (change) => change.account ?? '–' },
                ]}
                detail={({ details }) =>
                  details === undefined ? (
                    <p class="hint">It set no values.</p>
                  ) : (
                    <pre class="code">{JSON.stringify(details, null, 2)}</pre>
                  )
                }
              />
            )}
            <Pager pages={pages} next={next} />
          </>
        )}
      </Listing>
    </>
  )
}
