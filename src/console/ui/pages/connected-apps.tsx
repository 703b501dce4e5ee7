import type { ComponentChildren } from 'preact'
import type { DeviceView, GrantView } from '../../protocol.js'
import { write } from '../base/api.js'
import { changeQuery, type Place } from '../base/place.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Choice, PageHead, RowButton, Time } from '../parts/basics.js'
import { Filters, useSubjectSpecs } from '../parts/filters.js'
import { GrantHistory } from '../parts/grant-history.js'
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
const PERIODS = ['month', 'day'] as const

/** The apps that users have let spend their credits: the terms, the spend, the devices, and how to cut them off. */
export function ConnectedApps({ query }: { query: Place['query'] }) {
  const isForOperator = isOperator(useSession().viewer)
  const { account, appId } = query
  const shown = SHOWN.find(({ value }) => value === query.shown)?.value ?? 'in-use'
  const question = { account, appId, shown }
  const pages = usePages(question)
  const grants = useLoad('connected-apps', { ...question, after: pages.after })
  const uncapped = grants.data?.grants.filter(({ cap }) => cap === undefined) ?? []
  const spend = useKeySpend(uncapped.map(({ id }) => id))
  const specs = useSubjectSpecs().filter(({ name }) => name !== 'model')
  const actions = useActions(grants.reload)
  /** To an operator, grants of several accounts to one app look alike without the account. */
  const titleOf = (grant: GrantView): string =>
    isForOperator ? `${nameOf(grant)} for ${grant.account}` : nameOf(grant)

  const changeCap = (grant: GrantView): void =>
    actions.form({
      title: `Cap of ${nameOf(grant)}`,
      intro:
        'What the app may spend in each period, its markup included. A new cap applies to the next call. If it is lower than the spend of this period, calls are refused until the next one.',
      action: 'Save',
      fields: [
        {
          name: 'amount',
          label: 'At most, credits',
          value: grant.cap?.amount,
          ...(grant.capRequired === true && !isForOperator
            ? { isRequired: true }
            : { hint: 'Without a cap, the app may spend everything that the account has.' }),
        },
        {
          name: 'per',
          label: 'In which period',
          kind: 'select',
          options: PERIODS.map((per) => ({ value: per, label: `per ${per}` })),
          value: grant.cap?.per ?? 'month',
        },
        {
          name: 'zone',
          label: 'Time zone',
          value: grant.cap?.zone,
          placeholder: 'Europe/Paris',
          hint: 'In which days and months begin. If it is empty, it stays as it is. With another one, the spend counts from 0.',
        },
      ],
      run: async (values) => {
        const amount = values.text('amount')
        const per = PERIODS.find((one) => one === values.text('per'))!
        const cap = amount === undefined ? null : { amount, per, zone: values.text('zone') }
        await write('connected-apps/cap', { grantId: grant.id, cap })
        return cap !== null ? `Saved the cap of ${nameOf(grant)}.` : `${nameOf(grant)} has no cap now.`
      },
    })

  const revoke = (grant: GrantView): void =>
    actions.confirm({
      title: `Disconnect ${nameOf(grant)}?`,
      intro: (
        <p>
          Within a second, every call of the app for the account <strong>{grant.account}</strong> is refused,
          on all its devices. Calls that are running are finished and charged. To use the app again, its user
          has to connect it again.
        </p>
      ),
      action: 'Disconnect it',
      run: () => write('connected-apps/revoke', { grantId: grant.id }),
      done: () => `Disconnected ${nameOf(grant)}.`,
    })

  const removeDevice = (grant: GrantView, device: DeviceView): void =>
    actions.confirm({
      title: `Remove ${labelOf(device)} of ${nameOf(grant)}?`,
      intro: 'Within a second, calls from this device are refused. The others stay connected.',
      action: 'Remove it',
      run: () =>
        write('connected-apps/remove-device', { grantId: grant.id, connectionId: device.connectionId }),
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
      <Listing what="connected apps" loaded={grants}>
        {({ grants: rows, next }) =>
          rows.length === 0 ? (
            <Empty
              title={account || appId ? 'No connected app matches these filters.' : 'No app is connected.'}
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
                  ...(isForOperator ? [{ head: 'Account', cell: (grant: GrantView) => grant.account }] : []),
                  { head: 'Adds', cell: ({ markup }) => <Markup of={markup} /> },
                  { head: 'Models', cell: ({ models }) => <ModelList ids={models} /> },
                  { head: 'Spent', cell: (grant) => <Spent of={grant} inAll={spend(grant.id)} /> },
                  { head: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                  {
                    head: 'Ends',
                    cell: ({ endsAt }) => (endsAt === undefined ? 'never' : <Time at={endsAt} />),
                  },
                  { head: 'State', cell: (grant) => <State of={grant} /> },
                ]}
                actions={(grant) =>
                  grant.revokedAt === undefined && (
                    <>
                      <RowButton
                        label="Change the cap"
                        of={`of ${titleOf(grant)}`}
                        onPress={() => changeCap(grant)}
                      />
                      <RowButton label="Disconnect" of={titleOf(grant)} onPress={() => revoke(grant)} />
                    </>
                  )
                }
                detailLabel="Details"
                nameOf={(grant) => `of ${titleOf(grant)}`}
                detail={(grant) => <Detail of={grant} onRemove={(device) => removeDevice(grant, device)} />}
              />
              <Pager pages={pages} next={next} />
            </>
          )
        }
      </Listing>
    </>
  )
}

/** The spend in the cap's period. Without a cap, the spend since the app was connected. */
function Spent({ of: { cap, spent }, inAll }: { of: GrantView; inAll: ComponentChildren }) {
  if (cap === undefined) return <>{inAll} in all, no cap</>
  return (
    <>
      <Amount value={spent ?? '0'} /> of {cap.amount} this {cap.per}
    </>
  )
}

function State({ of: { endsAt, revokedAt } }: { of: GrantView }) {
  if (revokedAt !== undefined) return <Badge tone="bad">disconnected</Badge>
  if (endsAt !== undefined && endsAt <= Date.now()) return <Badge tone="warn">ended</Badge>
  return <Badge tone="good">connected</Badge>
}

/** The devices of a connected app and its history, which is read again after each change. */
function Detail({ of: grant, onRemove }: { of: GrantView; onRemove: (device: DeviceView) => void }) {
  return (
    <div class="grant-detail">
      <h2>Devices</h2>
      {grant.devices.length === 0 ? (
        <p>No device is connected.</p>
      ) : (
        <ul>
          {grant.devices.map((device) => (
            <li key={device.connectionId}>
              {labelOf(device)}, connected <Time at={device.createdAt} />, used <Time at={device.usedAt} />{' '}
              <RowButton label="Remove" of={labelOf(device)} onPress={() => onRemove(device)} />
            </li>
          ))}
        </ul>
      )}
      <h2>History</h2>
      <GrantHistory key={JSON.stringify([grant.cap, grant.devices])} grantId={grant.id} />
    </div>
  )
}

const nameOf = ({ appId, appName }: GrantView): string => appName ?? appId
const labelOf = ({ connectionId, label }: DeviceView): string => label ?? `device ${connectionId.slice(0, 8)}`
