import type { ComponentChildren } from 'preact'
import type { ConnectedAppView, DeviceView } from '../../protocol.js'
import { write } from '../base/api.js'
import { changeQuery, type Place } from '../base/place.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Choice, PageHead, RowButton, Time } from '../parts/basics.js'
import { ConnectedAppHistory } from '../parts/connected-app-history.js'
import type { FieldSpec } from '../parts/fields.js'
import { Filters, setSpecs, useSubjectSpecs } from '../parts/filters.js'
import { Empty, Listing } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'
import { useKeySpend } from '../parts/use-key-spend.js'
import { Amount, Markup, ModelList, NamedId } from '../parts/values.js'

const SHOWN = [
  { value: 'in-use', label: 'Connected' },
  { value: 'all', label: 'All' },
] as const
const PERIODS = ['month', 'week', 'day'] as const

/** The apps that users have let spend their credits: the terms, the spend, the devices, and how to cut them off. */
export function ConnectedApps({ query }: { query: Place['query'] }) {
  const isForOperator = isOperator(useSession().viewer)
  const { account, appId, connected } = query
  const shown = SHOWN.find(({ value }) => value === query.shown)?.value ?? 'in-use'
  const question = { account, appId, connectedAppId: connected, shown }
  const pages = usePages(question)
  const listed = useLoad('connected-apps', { ...question, after: pages.after })
  const uncapped = listed.data?.connectedApps.filter(({ cap }) => cap === undefined) ?? []
  const spend = useKeySpend(uncapped.map(({ id }) => id))
  const specs = [
    ...useSubjectSpecs().filter(({ name }) => name !== 'model'),
    ...setSpecs(query, [{ name: 'connected', label: 'Connected app' }]),
  ]
  const actions = useActions(listed.reload)
  /** To an operator, the connections of several accounts to one app look alike without the account. */
  const titleOf = (row: ConnectedAppView): string =>
    isForOperator ? `${nameOf(row)} for ${row.account}` : nameOf(row)

  const changeCap = (row: ConnectedAppView): void => {
    const fixedPer = isForOperator ? undefined : row.capPer
    actions.form({
      title: `Cap of ${nameOf(row)}`,
      intro:
        'What the app may spend in each period, its markup included. A new cap applies to the next call. If it is lower than the spend of this period, calls are refused until the next one.',
      action: 'Save',
      fields: [
        {
          name: 'amount',
          label: fixedPer === undefined ? 'At most, credits' : `At most, credits per ${fixedPer}`,
          value: row.cap?.amount,
          ...(row.capRequired === true && !isForOperator
            ? { isRequired: true }
            : { hint: 'Without a cap, the app may spend everything that the account has.' }),
        },
        ...(fixedPer === undefined ? periodFields(row) : []),
      ],
      run: async (values) => {
        const amount = values.text('amount')
        const per = fixedPer ?? PERIODS.find((one) => one === values.text('per'))!
        const cap = amount === undefined ? null : { amount, per, zone: values.text('zone') }
        await write('connected-apps/set-cap', { connectedAppId: row.id, cap })
        return cap !== null ? `Saved the cap of ${nameOf(row)}.` : `${nameOf(row)} has no cap now.`
      },
    })
  }

  const revoke = (row: ConnectedAppView): void =>
    actions.confirm({
      title: `Disconnect ${nameOf(row)}?`,
      intro: (
        <p>
          Within a second, every call of the app for the account <strong>{row.account}</strong> is refused, on
          all its devices. Calls that are running are finished and charged. To use the app again, its user has
          to connect it again.
        </p>
      ),
      action: 'Disconnect it',
      run: () => write('connected-apps/revoke', { connectedAppId: row.id }),
      done: () => `Disconnected ${nameOf(row)}.`,
    })

  const removeDevice = (row: ConnectedAppView, device: DeviceView): void =>
    actions.confirm({
      title: `Remove ${labelOf(device)} of ${nameOf(row)}?`,
      intro: 'Within a second, calls from this device are refused. The others stay connected.',
      action: 'Remove it',
      run: () =>
        write('connected-apps/remove-device', { connectedAppId: row.id, connectionId: device.connectionId }),
      done: () => `Removed ${labelOf(device)}.`,
    })

  return (
    <>
      <PageHead
        title="Connected apps"
        lead="Apps that may spend an account's credits, on the terms that its user agreed to. Times are in UTC."
      />
      <Filters specs={specs} query={query} />
      <div class="toolbar">
        <Choice label="Show" options={SHOWN} value={shown} onChange={(shown) => changeQuery({ shown })} />
      </div>
      <Listing what="connected apps" loaded={listed}>
        {({ connectedApps: rows, next }) =>
          rows.length === 0 ? (
            <Empty
              title={
                account || appId || connected
                  ? 'No connected app matches these filters.'
                  : 'No app is connected.'
              }
            >
              An app is listed here when its user has connected it from the app itself.
            </Empty>
          ) : (
            <>
              <Table
                caption="Connected apps"
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  {
                    head: 'App',
                    cell: ({ appId, appName }) => <NamedId of={{ id: appId, name: appName }} />,
                  },
                  ...(isForOperator
                    ? [{ head: 'Account', cell: (row: ConnectedAppView) => row.account }]
                    : []),
                  { head: 'Adds', cell: ({ markup }) => <Markup of={markup} /> },
                  { head: 'Models', cell: ({ models }) => <ModelList ids={models} /> },
                  { head: 'Spent', cell: (row) => <Spent of={row} inAll={spend(row.id)} /> },
                  { head: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                  {
                    head: 'Ends',
                    cell: ({ endsAt }) => (endsAt === undefined ? 'never' : <Time at={endsAt} />),
                  },
                  { head: 'State', cell: (row) => <State of={row} /> },
                ]}
                actions={(row) =>
                  row.revokedAt === undefined && (
                    <>
                      <RowButton
                        label="Change the cap"
                        of={`of ${titleOf(row)}`}
                        onPress={() => changeCap(row)}
                      />
                      <RowButton label="Disconnect" of={titleOf(row)} onPress={() => revoke(row)} />
                    </>
                  )
                }
                detailLabel="Details"
                nameOf={(row) => `of ${titleOf(row)}`}
                detail={(row) => <Detail of={row} onRemove={(device) => removeDevice(row, device)} />}
              />
              <Pager pages={pages} next={next} />
            </>
          )
        }
      </Listing>
    </>
  )
}

function periodFields({ cap }: ConnectedAppView): FieldSpec[] {
  return [
    {
      name: 'per',
      label: 'In which period',
      kind: 'select',
      options: PERIODS.map((per) => ({ value: per, label: `per ${per}` })),
      value: cap?.per ?? 'month',
    },
    {
      name: 'zone',
      label: 'Time zone',
      value: cap?.zone,
      placeholder: 'Europe/Paris',
      hint: 'In which days, weeks and months begin. If it is empty, it stays as it is. With another one, the spend counts from 0.',
    },
  ]
}

/** The spend in the cap's period. Without a cap, the spend since the app was connected. */
function Spent({ of: { cap, spent }, inAll }: { of: ConnectedAppView; inAll: ComponentChildren }) {
  if (cap === undefined) return <>{inAll} in all, no cap</>
  return (
    <>
      <Amount value={spent ?? '0'} /> of {cap.amount} this {cap.per}
    </>
  )
}

function State({ of: { endsAt, revokedAt } }: { of: ConnectedAppView }) {
  if (revokedAt !== undefined) return <Badge tone="bad">disconnected</Badge>
  if (endsAt !== undefined && endsAt <= Date.now()) return <Badge tone="warn">ended</Badge>
  return <Badge tone="good">connected</Badge>
}

/** The devices of a connected app and its history, which is read again after each change. */
function Detail({ of: row, onRemove }: { of: ConnectedAppView; onRemove: (device: DeviceView) => void }) {
  return (
    <div class="connected-app-detail">
      <h2>Devices</h2>
      {row.devices.length === 0 ? (
        <p>No device is connected.</p>
      ) : (
        <ul>
          {row.devices.map((device) => (
            <li key={device.connectionId}>
              {labelOf(device)}, connected <Time at={device.createdAt} />, used <Time at={device.usedAt} />{' '}
              <RowButton label="Remove" of={labelOf(device)} onPress={() => onRemove(device)} />
            </li>
          ))}
        </ul>
      )}
      <h2>History</h2>
      <ConnectedAppHistory key={JSON.stringify([row.cap, row.devices])} connectedAppId={row.id} />
    </div>
  )
}

const nameOf = ({ appId, appName }: ConnectedAppView): string => appName ?? appId
const labelOf = ({ connectionId, label }: DeviceView): string => label ?? `device ${connectionId.slice(0, 8)}`
