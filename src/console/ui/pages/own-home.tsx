import type { OwnHomeReply } from '../../protocol.js'
import { formatCount, formatTime } from '../base/format.js'
import { hrefOf } from '../base/place.js'
import { useLoad } from '../base/use-load.js'
import { Button, Figure, PageHead, Time } from '../parts/basics.js'
import { Before, CountFigure, PartBefore } from '../parts/comparison.js'
import { spendSince } from '../parts/home-links.js'
import { KeyName } from '../parts/key-cells.js'
import { LimitUse } from '../parts/limits.js'
import { Listing, Notice } from '../parts/notice.js'
import { Panel } from '../parts/panels.js'
import { Table } from '../parts/table.js'
import { Amount } from '../parts/values.js'
import { KeptCallTable } from './kept-calls.js'

/** The home page of a user: its own account. */
export function OwnHome() {
  const home = useLoad('home/account', {})
  const { data } = home
  const lead = data && `The account ${data.account}, as of ${formatTime(data.at)}. Times and days are in UTC.`
  return (
    <>
      <PageHead title="Home" {...(lead !== undefined && { lead })}>
        <Button onPress={home.reload}>Refresh</Button>
        {data?.topUpUrl !== undefined && (
          <a class="button primary" href={data.topUpUrl}>
            Add credits
          </a>
        )}
      </PageHead>
      <Listing what="your account" loaded={home}>
        {(reply) => (
          <>
            <Balance of={reply} />
            <div class="panels">
              <Budgets of={reply} />
              <Keys of={reply} />
              <Calls of={reply} />
            </div>
          </>
        )}
      </Listing>
    </>
  )
}

function Balance({ of: { balance, month } }: { of: OwnHomeReply }) {
  const { total, before } = month
  const href = spendSince(month.from)
  return (
    <>
      {balance?.suspendedAt !== undefined && (
        <Notice title="This account is suspended: its calls are refused." tone="bad" />
      )}
      {balance === undefined && (
        <Notice title="This account has no credit yet.">Its first credit opens it.</Notice>
      )}
      <dl class="figures four">
        <Figure name={<a href={hrefOf('accounts')}>Available</a>} note="credits">
          <Amount value={balance?.available ?? '0'} />
        </Figure>
        <Figure name={<a href={hrefOf('live')}>On hold</a>} note="for calls in flight">
          <Amount value={balance?.held ?? '0'} />
        </Figure>
        <Figure
          name={<a href={href}>Charged this month</a>}
          note={<Before of={total.cost} before={before.total.cost} isAmount />}
        >
          <Amount value={total.cost} />
        </Figure>
        <CountFigure name="Calls this month" href={href} of={total.calls} before={before.total.calls} />
      </dl>
      <p class="hint">
        This month is compared with the same part of the month before: <PartBefore of={month} />.
      </p>
    </>
  )
}

function Budgets({ of: { budgets } }: { of: OwnHomeReply }) {
  return (
    <Panel
      title="Budgets"
      href={hrefOf('keys')}
      hint="Of the account and its keys, those with the least left first."
    >
      {budgets.length === 0 && <p class="none">There is none: calls are limited by the balance alone.</p>}
      {budgets.map((limit) => (
        <div key={limit.id} class="limit">
          <LimitUse of={limit} />
        </div>
      ))}
    </Panel>
  )
}

function Keys({ of: { keys, keyCount } }: { of: OwnHomeReply }) {
  return (
    <Panel
      title="Keys"
      href={hrefOf('keys')}
      hint={`In use, newest first${keyCount > keys.length ? `: ${keys.length} of ${formatCount(keyCount)}` : ''}.`}
    >
      {keys.length === 0 ? (
        <p class="none">
          There is none in use. <a href={hrefOf('keys')}>Make one</a> for your programs.
        </p>
      ) : (
        <Table
          caption="Keys in use, newest first"
          rows={keys}
          keyOf={({ credentialId }) => credentialId}
          columns={[
            {
              head: 'Key',
              cell: (key) => (
                <a href={hrefOf('keys', { key: key.credentialId, shown: 'all' })}>
                  <KeyName of={key} />
                </a>
              ),
            },
            { head: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
            { head: 'This month', isNumber: true, cell: ({ cost }) => <Amount value={cost} /> },
          ]}
        />
      )}
    </Panel>
  )
}

function Calls({ of: { calls } }: { of: OwnHomeReply }) {
  return (
    <Panel title="Newest calls" href={hrefOf('calls', { view: 'all' })} isWide>
      {calls.length === 0 ? (
        <p class="none">
          None yet. Send a message in the <a href={hrefOf('playground')}>playground</a>.
        </p>
      ) : (
        <KeptCallTable calls={calls} query={{}} />
      )}
    </Panel>
  )
}
