import type { AppView } from '../../protocol.js'
import { write } from '../base/api.js'
import { percentOf } from '../base/format.js'
import { hrefOf, type Place } from '../base/place.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { appFields, logoForm, readAppFields } from '../parts/app-fields.js'
import { AppReviews } from '../parts/app-reviews.js'
import { Badge, Button, PageHead, RowButton, RowLink } from '../parts/basics.js'
import { selectField } from '../parts/fields.js'
import { Filters, PART_HINT } from '../parts/filters.js'
import { Limits } from '../parts/limits.js'
import { Empty, Listing, ProblemNotice } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'
import { ModelList, NamedId } from '../parts/values.js'

export function Apps({ query }: { query: Place['query'] }) {
  const isForOperator = isOperator(useSession().viewer)
  const search = query.app ?? ''
  const pages = usePages(`apps ${search}`)
  const apps = useLoad('apps', { search, after: pages.after })
  const models = useLoad('models', {})
  const actions = useActions(apps.reload)

  const known = models.data?.models.map(({ id }) => id)
  const edit = (app?: AppView): void => {
    if (known === undefined) return
    actions.form({
      title: app === undefined ? 'Register an app' : `Change ${nameOf(app)}`,
      intro:
        'An app acts for accounts that have connected it or given it an access token, and earns its markup on their calls.',
      action: app === undefined ? 'Register it' : 'Save',
      fields: [
        ...appFields(app, known),
        {
          name: 'account',
          label: 'Account that earns',
          value: app?.account,
          hint: "The platform's by default.",
        },
        {
          name: 'owner',
          label: 'Account that may edit it',
          value: app?.owner,
          hint: 'Only operators by default.',
        },
        selectField('state', 'State', app?.state ?? '', { '': 'live', test: 'in test' }),
      ],
      run: async (values) => {
        const body = readAppFields(values)
        await write('apps/put', {
          ...body,
          account: values.text('account'),
          owner: values.text('owner'),
          state: values.text('state') === 'test' ? 'test' : undefined,
          origins: app?.origins,
          was: app,
        })
        return `Saved the app ${body.id}.`
      },
    })
  }

  const setLogo = (app: AppView): void =>
    actions.form(
      logoForm(nameOf(app), async (logo) => {
        await write('apps/put-logo', { id: app.id, logo })
        return `Saved the logo of ${nameOf(app)}.`
      }),
    )

  const remove = (app: AppView): void =>
    actions.confirm({
      title: `Remove ${nameOf(app)}?`,
      intro: (
        <p>
          Within a second, all its access tokens are revoked, those of users who connected it too. This cannot
          be undone. Past charges stay in the ledger.
        </p>
      ),
      action: 'Remove it',
      run: () => write('apps/remove', { id: app.id }),
      done: () => `Removed ${nameOf(app)}.`,
    })

  const changeState = (app: AppView): void => {
    const isSuspended = app.suspendedAt !== undefined
    actions.confirm({
      title: `${isSuspended ? 'Resume' : 'Suspend'} ${nameOf(app)}?`,
      intro: isSuspended
        ? 'Its access tokens work again, and accounts pay for its calls.'
        : 'Within a second, every access token of the app is refused for all accounts, until you resume it.',
      action: isSuspended ? 'Resume it' : 'Suspend it',
      run: () => write(isSuspended ? 'apps/resume' : 'apps/suspend', { id: app.id }),
      done: () => `${isSuspended ? 'Resumed' : 'Suspended'} ${nameOf(app)}.`,
    })
  }

  return (
    <>
      <PageHead title="Apps" lead="Apps act for accounts and add a markup to the price.">
        {isForOperator && (
          <Button tone="primary" onPress={() => edit()} isDisabled={known === undefined}>
            Register an app
          </Button>
        )}
      </PageHead>
      {models.problem !== undefined && <ProblemNotice problem={models.problem} onRetry={models.reload} />}
      {isForOperator && <AppReviews onDecided={apps.reload} />}
      <Filters specs={[{ name: 'app', label: 'App', hint: PART_HINT }]} query={query} />
      <Listing what="apps" loaded={apps}>
        {({ apps: found, limits, next }) => {
          return (
            <>
              {found.length === 0 ? (
                <Empty title={search !== '' ? 'No app matches this filter.' : 'No app is registered.'}>
                  {isForOperator
                    ? 'Register one to let it act for accounts with access tokens.'
                    : 'When the operator registers one, you can give it an access token under Keys.'}
                </Empty>
              ) : (
                <Table
                  caption="Apps"
                  rows={found}
                  keyOf={({ id }) => id}
                  columns={[
                    { head: 'App', cell: (app) => <NamedId of={app} /> },
                    {
                      head: 'Markup',
                      isNumber: true,
                      cell: ({ markup }) => `${percentOf(markup.basisPoints)} %`,
                    },
                    { head: 'Per call', isNumber: true, cell: ({ markup }) => markup.flat ?? '–' },
                    { head: 'Models', cell: ({ allowedModels }) => <ModelList ids={allowedModels} /> },
                    ...(isForOperator
                      ? [
                          { head: 'Earns', cell: ({ account }: AppView) => account ?? 'the platform' },
                          {
                            head: 'State',
                            cell: ({ state, suspendedAt }: AppView) =>
                              suspendedAt !== undefined ? (
                                <Badge tone="bad">suspended</Badge>
                              ) : state === 'test' ? (
                                <Badge tone="warn">in test</Badge>
                              ) : (
                                <Badge tone="good">in use</Badge>
                              ),
                          },
                          {
                            head: 'Limits',
                            cell: (app: AppView) => (
                              <Limits
                                owner={{ of: 'app', ownerId: app.id, name: nameOf(app) }}
                                limits={limits}
                                reload={apps.reload}
                              />
                            ),
                          },
                        ]
                      : []),
                  ]}
                  actions={(app) => (
                    <>
                      <RowLink
                        label="Tokens"
                        of={`of ${nameOf(app)}`}
                        href={hrefOf('keys', { appId: app.id })}
                      />
                      {isForOperator && (
                        <>
                          <RowButton
                            label="Change"
                            of={nameOf(app)}
                            onPress={() => edit(app)}
                            isDisabled={known === undefined}
                          />
                          <RowButton
                            label={app.suspendedAt === undefined ? 'Suspend' : 'Resume'}
                            of={nameOf(app)}
                            onPress={() => changeState(app)}
                          />
                          <RowButton label="Logo" of={`of ${nameOf(app)}`} onPress={() => setLogo(app)} />
                          <RowButton label="Remove" of={nameOf(app)} onPress={() => remove(app)} />
                        </>
                      )}
                    </>
                  )}
                />
              )}
              <Pager pages={pages} next={next} />
            </>
          )
        }}
      </Listing>
    </>
  )
}

const nameOf = ({ id, name }: AppView): string => name ?? id
