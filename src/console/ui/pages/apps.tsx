import type { AppView } from '../../protocol/index.js'
import { write } from '../base/api.js'
import { basisPointsOf, percentOf } from '../base/format.js'
import { hrefOf, type Place } from '../base/place.js'
import { Problem } from '../base/problem.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Button, PageHead } from '../parts/basics.js'
import { Filters, PART_HINT, withPart } from '../parts/filters.js'
import { Limits } from '../parts/limits.js'
import { ModelList } from '../parts/model-list.js'
import { Empty, Listing, ProblemNotice } from '../parts/notice.js'
import { needed, optional } from '../parts/read-values.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'

export function Apps({ query }: { query: Place['query'] }) {
  const isForOperator = isOperator(useSession().viewer)
  const apps = useLoad('api/apps', {})
  const models = useLoad('api/models', {})
  const actions = useActions(apps.reload)

  const known = models.data?.models.map(({ id }) => id)
  const edit = (app?: AppView): void => {
    if (known === undefined) return
    const allowed = app?.allowedModels ?? known
    actions.form({
      title: app === undefined ? 'Register an app' : `Change ${nameOf(app)}`,
      intro: 'An app acts for accounts that gave it an access token, and earns its markup on their calls.',
      action: app === undefined ? 'Register it' : 'Save',
      fields: [
        { name: 'id', label: 'Id', isRequired: true, value: app?.id, isFixed: app !== undefined },
        { name: 'name', label: 'Name', value: app?.name },
        {
          name: 'markup.basisPoints',
          label: 'Markup, percent of the base',
          isRequired: true,
          value: app === undefined ? '0' : percentOf(app.markup.basisPoints),
        },
        { name: 'markup.flat', label: 'Markup, credits per call', value: app?.markup.flat },
        {
          name: 'account',
          label: 'Account that earns',
          value: app?.account,
          hint: "The platform's by default.",
        },
        {
          name: 'allowedModels',
          label: 'Models that it may use',
          kind: 'checks',
          options: [...new Set([...known, ...allowed])].map((id) => ({ value: id, label: id })),
          values: allowed,
        },
      ],
      run: async (values) => {
        const basisPoints = basisPointsOf(needed(values, 'markup.basisPoints'))
        if (basisPoints === undefined) {
          throw new Problem('This must be a number with at most two places, such as 20 or 2.5.', {
            field: 'markup.basisPoints',
          })
        }
        const flat = values.text('markup.flat')
        const id = needed(values, 'id')
        await write('api/apps/put', {
          id,
          ...optional(values, 'name'),
          markup: { basisPoints, ...(flat === undefined ? {} : { flat }) },
          allowedModels: values.all('allowedModels'),
          ...optional(values, 'account'),
          ...(app === undefined ? {} : { was: app }),
        })
        return `Saved the app ${id}.`
      },
    })
  }

  const suspend = (app: AppView): void =>
    actions.confirm({
      title: `Suspend ${nameOf(app)}?`,
      intro: (
        <p>
          Within a second, every access token of the app is refused for all accounts, until you resume it.
        </p>
      ),
      action: 'Suspend it',
      run: async () => {
        await write('api/apps/suspend', { id: app.id })
        return `Suspended ${nameOf(app)}.`
      },
    })

  const resume = (app: AppView): void =>
    actions.confirm({
      title: `Resume ${nameOf(app)}?`,
      intro: <p>Its access tokens work again, and accounts pay for its calls.</p>,
      action: 'Resume it',
      run: async () => {
        await write('api/apps/resume', { id: app.id })
        return `Resumed ${nameOf(app)}.`
      },
    })

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
      <Filters specs={[{ name: 'app', label: 'App', hint: PART_HINT }]} query={query} />
      <Listing what="apps" loaded={apps}>
        {({ apps: all, limits }) => {
          const found = withPart(all, query.app)
          return found.length === 0 ? (
            <Empty title={query.app ? 'No app matches this filter.' : 'No app is registered.'}>
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
                {
                  head: 'App',
                  cell: ({ id, name }) => (
                    <>
                      {name !== undefined && <span>{name} </span>}
                      <code>{id}</code>
                    </>
                  ),
                },
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
                        cell: ({ suspendedAt }: AppView) =>
                          suspendedAt === undefined ? (
                            <Badge tone="good">in use</Badge>
                          ) : (
                            <Badge tone="bad">suspended</Badge>
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
                  <a class="button quiet" href={hrefOf('keys', { appId: app.id })}>
                    Tokens<span class="unseen"> of {nameOf(app)}</span>
                  </a>
                  {isForOperator && (
                    <>
                      <Button
                        tone="quiet"
                        onPress={() => edit(app)}
                        of={nameOf(app)}
                        isDisabled={known === undefined}
                      >
                        Change
                      </Button>
                      <Button
                        tone="quiet"
                        onPress={() => (app.suspendedAt === undefined ? suspend(app) : resume(app))}
                        of={nameOf(app)}
                      >
                        {app.suspendedAt === undefined ? 'Suspend' : 'Resume'}
                      </Button>
                    </>
                  )}
                </>
              )}
            />
          )
        }}
      </Listing>
    </>
  )
}

const nameOf = ({ id, name }: AppView): string => name ?? id
