import type { ReviewView } from '../../protocol/index.js'
import { write } from '../base/api.js'
import { useLoad } from '../base/use-load.js'
import { Button, Time } from './basics.js'
import { Listing } from './notice.js'
import { Table } from './table.js'
import { useActions } from './use-actions.js'

/** The values that owners of apps want to change, for an operator to decide. Shows nothing if none wait. */
export function AppReviews({ onDecided }: { onDecided: () => void }) {
  const reviews = useLoad('api/app-reviews', {})
  const actions = useActions(() => {
    reviews.reload()
    onDecided()
  })

  const decide = ({ app, ...review }: ReviewView, decision: 'accept' | 'reject'): void =>
    actions.confirm({
      title: `${decision === 'accept' ? 'Accept' : 'Reject'} the changes of ${review.appId}?`,
      intro: <Values of={{ ...review, ...(app === undefined ? {} : { app }) }} />,
      action: decision === 'accept' ? 'Accept them' : 'Reject them',
      run: async () => {
        await write('api/app-reviews/decide', { review, decision })
        return `${decision === 'accept' ? 'Accepted' : 'Rejected'} the changes of ${review.appId}.`
      },
    })

  // The page already says that it loads. A second line would only flash.
  if (reviews.problem === undefined && (reviews.data?.reviews ?? []).length === 0) return null
  return (
    <Listing what="reviews" loaded={reviews}>
      {({ reviews: rows }) => (
        <section class="reviews">
          <h2>Waiting for review</h2>
          <Table
            caption="Changes that wait for review"
            rows={rows}
            keyOf={({ appId }) => appId}
            columns={[
              { head: 'App', cell: ({ appId }) => <code>{appId}</code> },
              { head: 'Owner', cell: ({ by }) => by },
              { head: 'Asked', cell: ({ at }) => <Time at={at} /> },
              { head: 'Changes', cell: (review) => <Values of={review} /> },
            ]}
            actions={(review) => (
              <>
                <Button
                  tone="quiet"
                  onPress={() => decide(review, 'accept')}
                  of={`the changes of ${review.appId}`}
                >
                  Accept
                </Button>
                <Button
                  tone="quiet"
                  onPress={() => decide(review, 'reject')}
                  of={`the changes of ${review.appId}`}
                >
                  Reject
                </Button>
              </>
            )}
          />
        </section>
      )}
    </Listing>
  )
}

/** Each new value beside the one in force. Of an app that becomes live, also the values that stay. */
function Values({ of: { app, values } }: { of: ReviewView }) {
  const { live, logo, name, redirectUris, site } = values
  return (
    <ul>
      {live && <li>becomes live, so that every user can connect it</li>}
      {live && name === undefined && <Kept of="name" is={app?.name} />}
      {live && site === undefined && <Kept of="site" is={app?.site} />}
      {live && redirectUris === undefined && <Kept of="redirect URIs" is={app?.redirectUris?.join(', ')} />}
      {live && logo === undefined && <Kept of="logo" is={app?.logo?.hash} />}
      {name !== undefined && <Change of="name" from={app?.name} to={name} />}
      {site !== undefined && <Change of="site" from={app?.site} to={site ?? undefined} />}
      {redirectUris !== undefined && (
        <Change of="redirect URIs" from={app?.redirectUris?.join(', ')} to={redirectUris.join(', ')} />
      )}
      {logo !== undefined && <Change of="logo" from={app?.logo?.hash} to={logo ?? undefined} />}
    </ul>
  )
}

function Kept(props: { of: string; is: string | undefined }) {
  return (
    <li>
      {props.of}: <code>{props.is ?? 'none'}</code>
    </li>
  )
}

function Change(props: { of: string; from: string | undefined; to: string | undefined }) {
  return (
    <li>
      {props.of}: <code>{props.to ?? 'none'}</code> in place of <code>{props.from ?? 'none'}</code>
    </li>
  )
}
