import type { ComponentChildren } from 'preact'
import type { HomeReply, SpendBy } from '../../protocol.js'
import { dayOf, formatCount } from '../base/format.js'
import { hrefOf } from '../base/place.js'
import { Id, Time } from '../parts/basics.js'
import { LimitUse } from '../parts/limits.js'
import { Panel, Ranking } from '../parts/panels.js'
import { Amount, NamedId } from '../parts/values.js'

const accountHref = (account: string): string => hrefOf('accounts', { account })
const keyHref = (key: string): string => hrefOf('keys', { key, shown: 'all' })

export function NearZero({ of: { nearZero, nearZeroCount, users } }: { of: HomeReply }) {
  return (
    <Panel
      title="Accounts near zero"
      href={hrefOf('accounts')}
      hint={
        <>
          Less is left than was spent <Since of={users} />.{moreOf(nearZeroCount, nearZero.length)}
        </>
      }
    >
      <Ranking
        none="None."
        rows={nearZero.map(({ id, available, spent }) => ({
          key: id,
          name: <Id of={id} />,
          href: accountHref(id),
          figure: (
            <>
              <Amount value={available} /> left, <Amount value={spent} /> spent
            </>
          ),
        }))}
      />
    </Panel>
  )
}

function moreOf(count: number, shown: number): string {
  return count > shown ? ` ${shown} of ${formatCount(count)}.` : ''
}

/** The time whose payers are looked at. A full ledger has too many calls since yesterday to read them all. */
function Since({ of: { from, since, calls } }: { of: HomeReply['users'] }) {
  return since === undefined ? (
    <>
      since yesterday, <Time at={from} />
    </>
  ) : (
    <>
      by the newest {formatCount(calls)} calls, since <Time at={since} />
    </>
  )
}

const OWNER_HREFS = {
  account: accountHref,
  credential: keyHref,
  app: (app: string) => hrefOf('apps', { app }),
} as const

export function NearEnd({ of: { nearEnd, nearEndCount, users } }: { of: HomeReply }) {
  return (
    <Panel
      title="Budgets near their end"
      href={hrefOf('keys')}
      hint={
        <>
          At most a fifth is left. Of those who spent most <Since of={users} />.
          {moreOf(nearEndCount, nearEnd.length)}
        </>
      }
    >
      {nearEnd.length === 0 && <p class="none">None.</p>}
      {nearEnd.map((limit) => (
        <div key={limit.id} class="limit">
          <LimitUse of={limit} />
          <span>
            {limit.of === 'credential' ? 'key' : limit.of}{' '}
            <a href={OWNER_HREFS[limit.of](limit.ownerId)}>
              <Id of={limit.ownerId} />
            </a>
          </span>
        </div>
      ))}
    </Panel>
  )
}

export function Tops({ of: { topModels, topApps, topAccounts, topKeys, month, users } }: { of: HomeReply }) {
  const ofMonth = { hint: 'This month.', fromDay: dayOf(month.from) }
  const ofUsers = {
    hint: (
      <>
        Spent <Since of={users} />.
      </>
    ),
    fromDay: dayOf(users.from),
  }
  const { fromDay } = ofMonth
  return (
    <>
      <Top title="Top accounts" by="account" rows={topAccounts} rowHref={accountHref} {...ofUsers} />
      <Top title="Top keys" by="key" rows={topKeys} rowHref={keyHref} {...ofUsers} />
      <Top
        title="Top models"
        by="model"
        rows={topModels}
        rowHref={(model) => hrefOf('spend', { fromDay, model, zone: 'UTC' })}
        {...ofMonth}
      />
      <Top
        title="Top apps"
        by="app"
        rows={topApps}
        rowHref={(appId) => hrefOf('spend', { fromDay, appId, zone: 'UTC' })}
        {...ofMonth}
      />
    </>
  )
}

interface TopProps {
  readonly title: string
  readonly by: SpendBy
  readonly fromDay: string
  readonly hint: ComponentChildren
  readonly rows: readonly { readonly key?: string; readonly name?: string; readonly cost: string }[]
  readonly rowHref: (id: string) => string
}

/** Those that cost or paid most. */
function Top({ title, by, fromDay, hint, rows, rowHref }: TopProps) {
  return (
    <Panel title={title} href={hrefOf('spend', { by, fromDay, zone: 'UTC' })} hint={hint}>
      <Ranking
        none="None in this time."
        rows={rows.map(({ key: id = '', name, cost }) => ({
          key: id,
          name: <NamedId of={{ id, name }} />,
          href: rowHref(id),
          figure: <Amount value={cost} />,
          part: Number(cost),
        }))}
      />
    </Panel>
  )
}
