import type { OwnAppView } from '../../protocol.js'
import { write } from '../base/api.js'
import { formatCount } from '../base/format.js'
import type { Place } from '../base/place.js'
import { useLoad } from '../base/use-load.js'
import { appFields, logoForm, readAppFields } from '../parts/app-fields.js'
import { Badge, Button, PageHead, RowButton } from '../parts/basics.js'
import { Filters } from '../parts/filters.js'
import { Empty, Listing, ProblemNotice } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'
import { Amount, Markup, ModelList, NamedId } from '../parts/values.js'

/** The apps that the viewer publishes, with their users, calls and earnings. */
export function OwnApps({ query }: { query: Place['query'] }) {
  const id = query.app === '' ? undefined : query.app
  const pages = usePages(`own-apps ${id ?? ''}`)
  const apps = useLoad('user-apps', { id, after: pages.after })
  const models = useLoad('models', {})
  const actions = useActions(apps.reload)
  const known = models.data?.models.map(({ id }) => id)

  const edit = (app?: OwnAppView): void => {
    if (known === undefined) return
    actions.form({
      title: app === undefined ? 'Publish an app' : `Change ${nameOf(app)}`,
      intro:
        app?.state === 'live'
          ? 'A new name, another site and redirect URIs on other hosts or ports wait for review. Everything else applies at once. Users pay no more than the markup that they agreed to.'
          : 'The app starts in test: only you and the accounts that you name can connect it, until an operator makes it live.',
      action: app === undefined ? 'Publish it' : 'Save',
      fields: appFields(app, known),
      run: async (values) => {
        const { inReview } = await write('user-apps/put', readAppFields(values))
        return inReview ? 'Saved. Some of it waits for review.' : 'Saved the app.'
      },
    })
  }

  const setLogo = (app: OwnAppView): void =>
    actions.form(
      logoForm(nameOf(app), async (logo) => {
        const { inReview } = await write('user-apps/put-logo', { id: app.id, logo })
        return inReview ? 'Saved. The logo waits for review.' : 'Saved the logo.'
      }),
    )

  const askForReview = (app: OwnAppView): void =>
    actions.confirm({
      title: `Ask to make ${nameOf(app)} live?`,
      intro: 'An operator looks at its name, site, logo and redirect URIs. Then every user can connect it.',
      action: 'Ask',
      run: () => write('user-apps/ask-for-review', { id: app.id }),
      done: () => `Asked for a review of ${nameOf(app)}.`,
    })

  const remove = (app: OwnAppView): void =>
    actions.confirm({
      title: `Remove ${nameOf(app)}?`,
      intro: (
        <p>
          Within a second, all its users are disconnected and its calls are refused. This cannot be undone.
          Past charges and earnings stay in the ledger.
        </p>
      ),
      action: 'Remove it',
      run: () => write('user-apps/remove', { id: app.id }),
      done: () => `Removed ${nameOf(app)}.`,
    })

  return (
    <>
      <PageHead title="My apps" lead="Apps of yours that users connect. You earn the markup on their calls.">
        <Button tone="primary" onPress={() => edit()} isDisabled={known === undefined}>
          Publish an app
        </Button>
      </PageHead>
      {models.problem !== undefined && <ProblemNotice problem={models.problem} onRetry={models.reload} />}
      {id !== undefined && <Filters specs={[{ name: 'app', label: 'App', hint: 'Its id.' }]} query={query} />}
      <Listing what="your apps" loaded={apps}>
        {({ ownApps, next }) =>
          ownApps.length === 0 ? (
            <Empty title={id === undefined ? 'You have no app yet.' : 'You have no app with this id.'}>
              Publish one to let users connect it.
            </Empty>
          ) : (
            <>
              <Table
                caption="My apps"
                rows={ownApps}
                keyOf={({ id }) => id}
                columns={[
                  { head: 'App', cell: (app) => <NamedId of={app} /> },
                  { head: 'State', cell: (app) => <State of={app} /> },
                  { head: 'Users', isNumber: true, cell: ({ users }) => formatCount(users) },
                  { head: 'Calls', isNumber: true, cell: ({ calls }) => formatCount(calls) },
                  { head: 'Earned', isNumber: true, cell: ({ earned }) => <Amount value={earned} /> },
                  { head: 'Adds', cell: ({ markup }) => <Markup of={markup} /> },
                  { head: 'Models', cell: ({ allowedModels }) => <ModelList ids={allowedModels} /> },
                ]}
                actions={(app) => (
                  <>
                    <RowButton
                      label="Change"
                      of={nameOf(app)}
                      onPress={() => edit(app)}
                      isDisabled={known === undefined}
                    />
                    <RowButton label="Logo" of={`of ${nameOf(app)}`} onPress={() => setLogo(app)} />
                    {app.state === 'test' && app.inReview?.live !== true && (
                      <RowButton
                        label="Ask for review"
                        of={`of ${nameOf(app)}`}
                        onPress={() => askForReview(app)}
                      />
                    )}
                    <RowButton label="Remove" of={nameOf(app)} onPress={() => remove(app)} />
                  </>
                )}
              />
              <Pager pages={pages} next={next} />
            </>
          )
        }
      </Listing>
    </>
  )
}

function State({ of: { inReview, state, suspendedAt } }: { of: OwnAppView }) {
  return (
    <>
      {suspendedAt !== undefined ? (
        <Badge tone="bad">suspended</Badge>
      ) : state === 'live' ? (
        <Badge tone="good">live</Badge>
      ) : (
        <Badge tone="warn">in test</Badge>
      )}
      {inReview !== undefined && <span> waits for review: {namesOf(inReview).join(', ')}</span>}
    </>
  )
}

type ReviewedValues = NonNullable<OwnAppView['inReview']>

function namesOf(values: ReviewedValues): readonly string[] {
  return Object.keys(values).map((name) => REVIEWED[name as keyof ReviewedValues])
}

const REVIEWED: Readonly<Record<keyof ReviewedValues, string>> = {
  name: 'name',
  redirectUris: 'redirect URIs',
  site: 'site',
  logo: 'logo',
  live: 'to become live',
}

const nameOf = ({ id, name }: OwnAppView): string => name ?? id
