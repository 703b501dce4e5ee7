import type { VNode } from 'preact'
import type { ReviewView } from '../../protocol.js'
import { pathOf, write } from '../base/api.js'
import { useLoad } from '../base/use-load.js'
import { RowButton, Time } from './basics.js'
import { Listing } from './notice.js'
import { Pager, usePages } from './pager.js'
import { Table } from './table.js'
import { useActions } from './use-actions.js'

/** The values that owners of apps want to change, for an operator to decide. Shows nothing if there are none. */
export function AppReviews({ onDecided }: { onDecided: () => void }) {
  const pages = usePages('app-reviews')
  const reviews = useLoad('user-apps/reviews', { after: pages.after })
  const actions = useActions(() => {
    reviews.reload()
    onDecided()
  })

  const decide = (shown: ReviewView, decision: 'accept' | 'reject'): void =>
    actions.confirm({
      title: `${decision === 'accept' ? 'Accept' : 'Reject'} the changes of ${shown.appId}?`,
      intro: <Values of={shown} />,
      action: decision === 'accept' ? 'Accept them' : 'Reject them',
      run: () => {
        const { app: _, ...review } = shown
        return write('user-apps/decide-review', { review, decision })
      },
      done: () => `${decision === 'accept' ? 'Accepted' : 'Rejected'} the changes of ${shown.appId}.`,
    })

  // The page already says that it loads. A second line would only flash.
  if (reviews.problem === undefined && pages.number === 1 && (reviews.data?.reviews ?? []).length === 0)
    return null
  return (
    <Listing what="reviews" loaded={reviews}>
      {({ reviews: rows, next }) => (
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
                <RowButton
                  label="Accept"
                  of={`the changes of ${review.appId}`}
                  onPress={() => decide(review, 'accept')}
                />
                <RowButton
                  label="Reject"
                  of={`the changes of ${review.appId}`}
                  onPress={() => decide(review, 'reject')}
                />
              </>
            )}
          />
          <Pager pages={pages} next={next} />
        </section>
      )}
    </Listing>
  )
}

/** Shows each new value beside the current one. For an app that goes live, also shows the unchanged values. */
function Values({ of: { app, appId, values } }: { of: ReviewView }) {
  const { live, logo, name, redirectUris, site } = values
  return (
    <ul>
      {live && <li>becomes live, so that every user can connect it</li>}
      {live && name === undefined && <Kept of="name" is={app?.name} />}
      {live && site === undefined && <Kept of="site" is={app?.site} />}
      {live && redirectUris === undefined && <Kept of="redirect URIs" is={app?.redirectUris?.join(', ')} />}
      {live && logo === undefined && <Kept of="logo" is={logoOf(appId, app?.logo?.hash)} />}
      {name !== undefined && <Change of="name" from={app?.name} to={name} />}
      {site !== undefined && <Change of="site" from={app?.site} to={site ?? undefined} />}
      {redirectUris !== undefined && (
        <Change of="redirect URIs" from={app?.redirectUris?.join(', ')} to={redirectUris.join(', ')} />
      )}
      {logo !== undefined && (
        <Change of="logo" from={logoOf(appId, app?.logo?.hash)} to={logoOf(appId, logo ?? undefined)} />
      )}
    </ul>
  )
}

/** The picture of a logo; undefined if there is none. */
function logoOf(appId: string, hash: string | undefined): VNode | undefined {
  if (hash === undefined) return undefined
  return <img class="logo" src={pathOf('apps/logo', { appId, hash })} alt={`Logo ${hash.slice(0, 8)}`} />
}

/** A text, or a picture. */
type Shown = string | VNode | undefined

function Kept(props: { of: string; is: Shown }) {
  return (
    <li>
      {props.of}: <Value is={props.is} />
    </li>
  )
}

function Change(props: { of: string; from: Shown; to: Shown }) {
  return (
    <li>
      {props.of}: <Value is={props.to} /> in place of <Value is={props.from} />
    </li>
  )
}

function Value({ is }: { is: Shown }) {
  return typeof is === 'object' ? is : <code>{is ?? 'none'}</code>
}
