import type { AccountView } from '../../protocol.js'
import { write } from '../base/api.js'
import { formatTime } from '../base/format.js'
import { hrefOf, type Place } from '../base/place.js'
import { asProblem, Problem } from '../base/problem.js'
import { randomId } from '../base/random-id.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Button, Facts, Id, PageHead, RowButton, RowLink, Time } from '../parts/basics.js'
import { Dialog } from '../parts/dialogs.js'
import { Filters } from '../parts/filters.js'
import { Limits } from '../parts/limits.js'
import { Empty, Listing, Notice } from '../parts/notice.js'
import { Pager, usePages } from '../parts/pager.js'
import { needed } from '../parts/read-values.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'
import { Amount } from '../parts/values.js'

const POSTED_BEFORE =
  "An earlier attempt with this form was already posted, with another amount. Close the form and check the account's calls before you post anything else."

const SUSPENSION =
  'Within a second, every key and access token of the account is refused, until you resume it. Its credits stay.'

export function Accounts({ query }: { query: Place['query'] }) {
  const { viewer, open } = useSession()
  const isForOperator = isOperator(viewer)
  const account = query.account === '' ? undefined : query.account
  const pages = usePages(account ?? '')
  const accounts = useLoad('accounts', { account, after: pages.after })
  const actions = useActions(accounts.reload)

  const openAccount = (): void =>
    actions.form({
      title: 'Open an account',
      intro: 'It starts without credits. An account that already exists stays as it is.',
      action: 'Open it',
      fields: [
        {
          name: 'account',
          label: 'Name',
          isRequired: true,
          hint: 'The name of the user in your own service.',
        },
      ],
      run: async (values) => {
        const { account } = await write('accounts/open', { account: needed(values, 'account') })
        return `The account ${account.id} is open.`
      },
    })

  const postTo = (account: string, kind: 'credit' | 'correct'): void => {
    // One reference for all attempts in this dialog: an attempt whose reply was lost may have been posted.
    const ownReference = randomId()
    actions.form({
      title: kind === 'credit' ? `Add credits to ${account}` : `Correct the balance of ${account}`,
      intro:
        kind === 'credit'
          ? 'Makes one posting to the ledger. Another posting can correct it, but nothing can erase it.'
          : 'Adds credits, or with a minus sign removes them, in a posting of its own.',
      action: kind === 'credit' ? 'Credit' : 'Correct',
      fields: [
        {
          name: 'amount',
          label: 'Credits',
          isRequired: true,
          placeholder: kind === 'credit' ? '5.00' : '-0.25',
          hint: 'The decimal sign is a point: 1.000 is one.',
        },
        {
          name: 'reference',
          label: 'Reference',
          hint: 'Such as an invoice number. Using it again posts nothing.',
        },
        { name: 'memo', label: 'Memo' },
      ],
      run: async (values) => {
        const body = {
          account,
          amount: needed(values, 'amount'),
          reference: values.text('reference') ?? ownReference,
          memo: values.text('memo'),
        }
        const posted = await write(`accounts/${kind}`, body).catch((caught: unknown) => {
          const { status } = asProblem(caught)
          throw status === 409 && body.reference === ownReference ? new Problem(POSTED_BEFORE) : caught
        })
        // A repeat of this dialog's own posting is a success.
        const isOld = posted.isRepeat === true && body.reference !== ownReference
        const how = isOld
          ? `Nothing was posted: this reference was already posted at ${formatTime(posted.entry.at)}.`
          : 'Posted.'
        return `${how} ${account} has ${posted.account.available} credits now.`
      },
    })
  }

  const changeState = ({ id, suspendedAt }: AccountView): void => {
    const isSuspended = suspendedAt !== undefined
    actions.confirm({
      title: isSuspended ? `Resume ${id}?` : `Suspend ${id}?`,
      intro: isSuspended ? 'Its keys and access tokens work again and spend its credits.' : SUSPENSION,
      action: isSuspended ? 'Resume it' : 'Suspend it',
      run: () => write(isSuspended ? 'accounts/resume' : 'accounts/suspend', { account: id }),
      done: () => (isSuspended ? `Resumed ${id}.` : `Suspended ${id}.`),
    })
  }

  const show = (id: string): void => open((close) => <Statement account={id} onClose={close} />)

  return (
    <>
      <PageHead title="Accounts" lead="Who pays, and who earns. Times are in UTC.">
        {isForOperator && (
          <Button tone="primary" onPress={openAccount}>
            Open an account
          </Button>
        )}
      </PageHead>
      {isForOperator && (
        <Filters specs={[{ name: 'account', label: 'Account', hint: 'The full name.' }]} query={query} />
      )}
      <Listing what="accounts" loaded={accounts}>
        {({ accounts: found, limits, next }) => (
          <>
            {found.length === 0 ? (
              <Empty
                title={
                  account === undefined ? 'There is no account yet.' : 'There is no account with this name.'
                }
              >
                {isForOperator
                  ? 'Open one and add credits to it. Then its keys can call models.'
                  : 'Ask the operator to open it.'}
              </Empty>
            ) : (
              <Table
                caption="Accounts"
                rows={found}
                keyOf={({ id }) => id}
                isPage={next !== undefined || pages.number > 1}
                columns={[
                  { head: 'Account', cell: ({ id }) => <Id of={id} />, sortBy: ({ id }) => id },
                  {
                    head: 'Available',
                    isNumber: true,
                    sortBy: ({ available }) => available,
                    cell: ({ available }) => <Amount value={available} />,
                  },
                  {
                    head: 'On hold',
                    isNumber: true,
                    sortBy: ({ held }) => held,
                    cell: ({ held }) => <Amount value={held} />,
                  },
                  {
                    head: 'Posted',
                    isNumber: true,
                    sortBy: ({ posted }) => posted,
                    cell: ({ posted }) => <Amount value={posted} />,
                  },
                  {
                    head: 'Opened',
                    sortBy: ({ createdAt }) => createdAt,
                    cell: ({ createdAt }) => <Time at={createdAt} />,
                  },
                  {
                    head: 'State',
                    cell: ({ suspendedAt }) =>
                      suspendedAt === undefined ? (
                        <Badge tone="good">in use</Badge>
                      ) : (
                        <Badge tone="bad">suspended</Badge>
                      ),
                  },
                  {
                    head: 'Limits',
                    cell: ({ id }) => (
                      <Limits
                        owner={{ of: 'account', ownerId: id, name: id }}
                        limits={limits}
                        reload={accounts.reload}
                      />
                    ),
                  },
                ]}
                actions={(row) => (
                  <>
                    <span class="action-group">
                      <RowButton label="Statement" of={`of ${row.id}`} onPress={() => show(row.id)} />
                      <RowLink
                        label="Calls"
                        of={`of ${row.id}`}
                        href={hrefOf('calls', { account: row.id })}
                      />
                      {isForOperator && (
                        <RowLink
                          label="Try"
                          of={`as ${row.id}`}
                          href={hrefOf('playground', { account: row.id })}
                        />
                      )}
                    </span>
                    {isForOperator && (
                      <span class="action-group">
                        <RowButton
                          label="Credit"
                          of={`to ${row.id}`}
                          onPress={() => postTo(row.id, 'credit')}
                        />
                        <RowButton label="Correct" of={row.id} onPress={() => postTo(row.id, 'correct')} />
                        <RowButton
                          label={row.suspendedAt === undefined ? 'Suspend' : 'Resume'}
                          of={row.id}
                          onPress={() => changeState(row)}
                        />
                      </span>
                    )}
                  </>
                )}
              />
            )}
            <Pager pages={pages} next={next} />
          </>
        )}
      </Listing>
    </>
  )
}

function Statement({ account, onClose }: { account: string; onClose: () => void }) {
  const statement = useLoad('reports/statement', { account })
  return (
    <Dialog title={`Statement of ${account}`} onClose={onClose}>
      <Listing what="the statement" loaded={statement}>
        {(sums) => (
          <>
            <Facts
              of={[
                ['Credited', <Amount key="credited" value={sums.credited} />],
                ['Corrected', <Amount key="corrected" value={sums.corrected} />],
                ['Refunded', <Amount key="refunded" value={sums.refunded} />],
                ['Earned', <Amount key="earned" value={sums.earned} />],
                ['Spent', <Amount key="spent" value={sums.spent} />],
                ['Credited + corrected + refunded + earned − spent', <Amount key="sum" value={sums.sum} />],
                ['Balance in the ledger', <Amount key="posted" value={sums.posted} />],
                ['of this on hold', <Amount key="held" value={sums.held} />],
                ['Available', <Amount key="available" value={sums.available} />],
              ]}
            />
            {sums.isEqual ? (
              <Notice title="The postings add up to the balance, to the last digit." tone="good" />
            ) : (
              <Notice title="The postings do not add up to the balance." tone="bad">
                Verify the books before anything else is billed.
              </Notice>
            )}
          </>
        )}
      </Listing>
      <div class="actions">
        <Button tone="primary" onPress={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  )
}
