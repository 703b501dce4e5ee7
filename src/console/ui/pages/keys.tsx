import { useRef } from 'preact/hooks'
import type { AppView, KeyView } from '../../protocol.js'
import { write } from '../base/api.js'
import { changeQuery, type Place } from '../base/place.js'
import { isOperator, ownAccount, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Button, Choice, PageHead, RowButton, Time } from '../parts/basics.js'
import type { Values } from '../parts/dialogs.js'
import type { FieldSpec, Found } from '../parts/fields.js'
import { Filters, setSpecs, useSubjectSpecs } from '../parts/filters.js'
import { appOption, seenTerms, useFoundAccounts, useFoundApps } from '../parts/found.js'
import { hintOf, KeyName, KeyRole, KeyState, nameOf } from '../parts/key-cells.js'
import { Limits } from '../parts/limits.js'
import { Empty, Listing } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { dayEnd, needed, newLimits } from '../parts/read-values.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'
import { useKeySpend } from '../parts/use-key-spend.js'
import { keySpec } from './call-filters.js'

const SHOWN = [
  { value: 'in-use', label: 'In use' },
  { value: 'playground', label: 'Playground' },
  { value: 'all', label: 'All' },
] as const

const NONE = {
  'in-use': 'No key is in use.',
  playground: 'No playground key is in use.',
  all: 'There is no key yet.',
} as const

export function Keys({ query }: { query: Place['query'] }) {
  const { viewer } = useSession()
  const { account, appId, key: credentialId, metadata } = query
  const shown = SHOWN.find(({ value }) => value === query.shown)?.value ?? 'in-use'
  const question = { account, appId, credentialId, metadata, shown }
  const pages = usePages(question)
  const keys = useLoad('keys', { ...question, after: pages.after })
  const spend = useKeySpend(keys.data?.credentials.map(({ credentialId }) => credentialId) ?? [])
  const someApp = useLoad('apps', { limit: 1 })
  const filterApp = useLoad('apps', { id: appId ?? '' }, { isOff: !appId })
  const seenApps = useRef(new Map<string, AppView>())
  const models = useLoad('models', {})
  const specs = [
    ...useSubjectSpecs().filter(({ name }) => name !== 'model'),
    ...(isOperator(viewer) ? [{ name: 'metadata', label: 'Metadata', placeholder: 'team=blue' }] : []),
    ...setSpecs(query, [keySpec]),
  ]
  const actions = useActions(keys.reload)
  const own = account ?? ownAccount(viewer)
  const subject: readonly FieldSpec[] = [
    {
      name: 'account',
      label: 'Account that pays',
      isRequired: true,
      value: own,
      isFixed: viewer.kind === 'user',
      ...(viewer.kind === 'operator' && { useFound: useFoundAccounts }),
    },
    { name: 'label', label: 'Label', hint: 'Distinguishes it from the others.' },
    { name: 'expiresAt', label: 'Last day', kind: 'date', hint: 'Never expires by default. In UTC.' },
    { name: 'budget', label: 'Credits a month', placeholder: '20', hint: 'No budget by default.' },
    { name: 'rate', label: 'Calls a minute', placeholder: '60', hint: 'No limit by default.' },
  ]

  const allowedModels: FieldSpec = {
    name: 'allowedModels',
    label: 'Models that it may use',
    kind: 'checks',
    hint: 'All models, also later ones, if none is chosen.',
    options: (models.data?.models ?? []).map(({ id }) => ({ value: id, label: id })),
  }

  const issueKey = (): void =>
    actions.issue({
      title: 'New API key',
      intro: "Anyone who has the key can spend the account's credits.",
      action: 'Make the key',
      shown: 'The new API key',
      fields: [...subject, allowedModels],
      run: (values) => {
        const allowed = values.all('allowedModels')
        return write('keys/issue', {
          account: needed(values, 'account'),
          label: values.text('label'),
          expiresAt: dayEnd(values, 'expiresAt'),
          limits: newLimits(values),
          allowedModels: allowed.length === 0 ? undefined : allowed,
        })
      },
    })

  const useSeenApps = (part: string): Found => {
    const found = useFoundApps(part)
    for (const app of found.apps) seenApps.current.set(app.id, app)
    return found
  }

  const issueToken = (): void => {
    const filtered = filterApp.data?.apps ?? []
    for (const app of filtered) seenApps.current.set(app.id, app)
    actions.issue({
      title: 'New access token',
      intro:
        "Lets an app act for the account. The account pays, the app's markup is added, and only the app's models may be used.",
      action: 'Make the token',
      shown: 'The new access token',
      fields: [
        {
          name: 'appId',
          label: 'App',
          kind: 'select',
          isRequired: true,
          // No default, so that a person chooses whose markup is paid.
          options: [{ value: '', label: 'Choose one' }, ...filtered.map(appOption)],
          value: filtered[0]?.id,
          useFound: useSeenApps,
        },
        ...subject,
      ],
      run: (values) => {
        const chosen = seenApps.current.get(needed(values, 'appId'))
        return write('keys/issue-token', {
          account: needed(values, 'account'),
          appId: needed(values, 'appId'),
          terms: chosen && seenTerms(chosen),
          label: values.text('label'),
          expiresAt: dayEnd(values, 'expiresAt'),
          limits: newLimits(values),
        })
      },
    })
  }

  const reissue = (key: KeyView): void =>
    actions.issue({
      title: `New token for ${nameOf(key)}`,
      intro: (
        <p>
          The token {hintOf(key)} stops working at once, unless it gets a last day. The key keeps its id, so
          its spend stays in one row.
        </p>
      ),
      action: 'Replace the token',
      shown: 'The new token',
      fields: [
        {
          name: 'expiresAt',
          label: 'Last day',
          kind: 'date',
          value: key.expiresAt === undefined ? undefined : dayOf(key.expiresAt),
          hint:
            viewer.kind === 'user' && key.expiresAt !== undefined
              ? 'Not later than that of the previous token. In UTC.'
              : 'Never expires if this is empty. In UTC.',
        },
        {
          name: 'previousExpiresAt',
          label: 'Last day of the previous token',
          kind: 'date',
          hint: 'Until then both work, so that programs can change over. None if it was lost. In UTC.',
        },
      ],
      run: (values) =>
        write('keys/reissue', {
          credentialId: key.credentialId,
          lastFour: key.lastFour,
          expiresAt: newEnd(values, key.expiresAt),
          previousExpiresAt: dayEnd(values, 'previousExpiresAt'),
        }),
    })

  const revoke = (key: KeyView): void =>
    actions.confirm({
      title: `Revoke ${nameOf(key)}?`,
      intro: (
        <p>
          Within a second, every call with {hintOf(key)} for the account <strong>{key.account}</strong> is
          refused. This cannot be undone. Past charges stay in the ledger.
        </p>
      ),
      action: 'Revoke it',
      run: () => write('keys/revoke', { credentialId: key.credentialId }),
      done: () => `Revoked ${nameOf(key)}.`,
    })

  return (
    <>
      <PageHead
        title="Keys"
        lead="API keys spend the credits of their account. With access tokens, apps act for an account. Times are in UTC."
      >
        <Button onPress={issueToken} isDisabled={(someApp.data?.apps.length ?? 0) === 0}>
          New access token
        </Button>
        <Button
          tone="primary"
          onPress={issueKey}
          isDisabled={models.data === undefined && models.problem === undefined}
        >
          New API key
        </Button>
      </PageHead>
      <Filters specs={specs} query={query} />
      <div class="toolbar">
        <Choice label="Show" options={SHOWN} value={shown} onChange={(shown) => changeQuery({ shown })} />
      </div>
      <Listing what="keys" loaded={keys}>
        {({ credentials, limits, next }) =>
          credentials.length === 0 ? (
            <Empty
              title={
                account || appId || credentialId || metadata ? 'No key matches these filters.' : NONE[shown]
              }
            >
              Make one with “New API key”, and use it in the program that makes the calls.
            </Empty>
          ) : (
            <>
              <Table
                caption="Keys and access tokens"
                rows={credentials}
                keyOf={({ credentialId }) => credentialId}
                isPage={next !== undefined || pages.number > 1}
                columns={[
                  { head: 'Key', cell: (key) => <KeyName of={key} /> },
                  { head: 'Account', cell: (key) => key.account, sortBy: (key) => key.account },
                  { head: 'Acts as', cell: (key) => <KeyRole of={key} /> },
                  {
                    head: 'Made',
                    sortBy: ({ createdAt }) => createdAt,
                    cell: ({ createdAt }) => <Time at={createdAt} />,
                  },
                  {
                    head: 'Last used',
                    sortBy: ({ lastUsedAt }) => lastUsedAt,
                    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
                  },
                  { head: 'Spent', isNumber: true, cell: ({ credentialId }) => spend(credentialId) },
                  { head: 'State', cell: (key) => <KeyState of={key} /> },
                  {
                    head: 'Limits',
                    cell: (key) => (
                      <Limits
                        owner={{ of: 'credential', ownerId: key.credentialId, name: nameOf(key) }}
                        limits={limits}
                        reload={keys.reload}
                      />
                    ),
                  },
                ]}
                actions={(key) =>
                  key.revokedAt === undefined && (
                    <>
                      {key.source === undefined && (
                        <RowButton label="Replace" of={nameOf(key)} onPress={() => reissue(key)} />
                      )}
                      <RowButton label="Revoke" of={nameOf(key)} onPress={() => revoke(key)} />
                    </>
                  )
                }
              />
              <Pager pages={pages} next={next} />
            </>
          )
        }
      </Listing>
    </>
  )
}

/** The day of a time, as a field has it. */
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Undefined if the day was left as it was: then the new token expires when the previous one does. */
function newEnd(values: Values, before: number | undefined): number | null | undefined {
  const day = values.text('expiresAt')
  if (day === (before === undefined ? undefined : dayOf(before))) return undefined
  return dayEnd(values, 'expiresAt') ?? null
}
