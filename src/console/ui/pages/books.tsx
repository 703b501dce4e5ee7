import { useState } from 'preact/hooks'
import type { VerifyReply } from '../../protocol.js'
import { write } from '../base/api.js'
import { asProblem, type Problem } from '../base/problem.js'
import { Button, PageHead } from '../parts/basics.js'
import { Empty, Loading, Notice, ProblemNotice } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import { Amount } from '../parts/values.js'

type State = 'idle' | 'working' | { readonly reply: VerifyReply } | { readonly problem: Problem }

export function Books() {
  const [state, setState] = useState<State>('idle')
  const verify = (): void => {
    setState('working')
    write('maintenance/verify', {})
      .then((reply) => setState({ reply }))
      .catch((caught: unknown) => setState({ problem: asProblem(caught) }))
  }
  return (
    <>
      <PageHead
        title="Books"
        lead="Compares every balance, every hold and every entry with its postings, in one snapshot."
      >
        <Button tone="primary" onPress={verify} isDisabled={state === 'working'}>
          Verify the books
        </Button>
      </PageHead>
      {state === 'idle' && (
        <Empty title="The books have not been verified in this visit.">
          Verify them after an incident, or before you bill. This reads the whole ledger, which takes a while
          if it is long.
        </Empty>
      )}
      {state === 'working' && <Loading what="and adding up the whole ledger" />}
      {typeof state === 'object' && 'problem' in state && (
        <ProblemNotice problem={state.problem} onRetry={verify} />
      )}
      {typeof state === 'object' && 'reply' in state && <Verdict of={state.reply} />}
    </>
  )
}

function Verdict({ of: { isSound, discrepancies } }: { of: VerifyReply }) {
  if (isSound) {
    return (
      <Notice title="The books are sound." tone="good">
        Every balance, every hold and every charge agrees with its postings, to the last digit.
      </Notice>
    )
  }
  return (
    <>
      <Notice title={`The books are not sound: ${discrepancies.length} differences.`} tone="bad">
        Stop billing, keep a copy of the database, and find out what else writes to it besides the router.
      </Notice>
      <Table
        caption="Differences"
        rows={discrepancies}
        keyOf={({ what, id }) => `${what} ${id}`}
        columns={[
          { head: 'What', cell: ({ what, id }) => `${what} ${id}` },
          { head: 'Found', isNumber: true, cell: ({ found }) => <Amount value={found} /> },
          { head: 'Expected', isNumber: true, cell: ({ expected }) => <Amount value={expected} /> },
          { head: 'What to do', cell: ({ message }) => message },
        ]}
      />
    </>
  )
}
