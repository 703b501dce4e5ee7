import { useEffect, useState } from 'preact/hooks'
import type { RouteFlaw, RouteHealth } from '../../../contracts/route-health.js'
import type { LiveReply } from '../../protocol.js'
import { read } from '../base/api.js'
import { formatDuration } from '../base/format.js'
import type { Place } from '../base/place.js'
import { asProblem, type Problem } from '../base/problem.js'
import { isOperator, useSession } from '../base/session.js'
import { Badge, Id, PageHead, Time } from '../parts/basics.js'
import { Filters } from '../parts/filters.js'
import { Empty, Loading, ProblemNotice } from '../parts/notice.js'
import { type Column, Table } from '../parts/table.js'
import { Amount } from '../parts/values.js'

const EVERY_MS = 1_000
const AFTER_PROBLEM_MS = 5_000

/** Asks again after each reply, but not while the page is hidden. */
function useLive(holdId: string | undefined): { data?: LiveReply; problem?: Problem } {
  const [state, setState] = useState<{ data?: LiveReply; problem?: Problem }>({})
  useEffect(() => {
    // The calls of another filter are not those of this one.
    setState({})
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    // Only one timer, even if a page that was hidden meanwhile has asked twice.
    const askIn = (ms: number): void => {
      clearTimeout(timer)
      timer = setTimeout(ask, ms)
    }
    const ask = (): void => {
      clearTimeout(timer)
      if (document.hidden) return
      read('live', { holdId }, controller.signal)
        .then((data) => {
          setState({ data })
          askIn(EVERY_MS)
        })
        .catch((caught: unknown) => {
          if (controller.signal.aborted) return
          setState((before) => ({ ...before, problem: asProblem(caught) }))
          askIn(AFTER_PROBLEM_MS)
        })
    }
    ask()
    document.addEventListener('visibilitychange', ask)
    return () => {
      controller.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [holdId])
  return state
}

export function Live({ query }: { query: Place['query'] }) {
  const hold = query.hold === '' ? undefined : query.hold
  const { data, problem } = useLive(hold)
  const { viewer } = useSession()
  return (
    <>
      <PageHead title="Live" lead="Calls in flight, refreshed once a second. Times are in UTC." />
      {hold !== undefined && <Filters specs={[{ name: 'hold', label: 'Hold' }]} query={query} />}
      {problem !== undefined && <ProblemNotice problem={problem} />}
      {data === undefined ? (
        problem === undefined && <Loading what="calls in flight" />
      ) : (
        <>
          {hold !== undefined && data.inFlight.length === 0 && (
            <Empty title="This hold is no longer open.">
              It was settled by a charge, or released or expired without one. Clear the filter to see the
              calls in flight.
            </Empty>
          )}
          {(hold === undefined || data.inFlight.some(({ isHere }) => isHere)) && (
            <section>
              <h2>
                In flight here: {data.inFlight.filter(({ isHere }) => isHere).length}
                {data.isCut && ' and more'}
              </h2>
              <InFlight data={data} />
            </section>
          )}
          <HeldElsewhere data={data} />
          {isOperator(viewer) && (
            <section>
              <h2>Routes</h2>
              <Health routes={data.routes} />
            </section>
          )}
        </>
      )}
    </>
  )
}

function InFlight({ data }: { data: LiveReply }) {
  const calls = data.inFlight.filter(({ isHere }) => isHere)
  if (calls.length === 0) {
    return (
      <Empty title="No call is in flight in this process.">
        Calls appear here from their first byte to their last. Start one in the{' '}
        <a href="#/playground">playground</a>.
      </Empty>
    )
  }
  return (
    <Table
      caption="Calls in flight, newest first"
      rows={calls}
      keyOf={({ requestId }) => requestId}
      columns={[
        { head: 'Request', cell: ({ requestId }) => <code>{requestId}</code> },
        { head: 'Since', cell: ({ startedAt }) => (startedAt === undefined ? '–' : <Time at={startedAt} />) },
        {
          head: 'For',
          isNumber: true,
          cell: ({ startedAt }) =>
            startedAt === undefined ? '–' : formatDuration(Math.max(0, data.at - startedAt)),
        },
        { head: 'Account', cell: ({ account }) => account ?? '–' },
        { head: 'Model', cell: ({ model }) => <Id of={model} /> },
        { head: 'Route', cell: ({ routeId, provider }) => <Id of={routeId ?? provider} /> },
        { head: 'On hold', isNumber: true, cell: ({ holdAmount }) => <Amount value={holdAmount} /> },
      ]}
    />
  )
}

/** Credits on hold without a call in this process. */
function HeldElsewhere({ data }: { data: LiveReply }) {
  const held = data.inFlight.filter(({ isHere }) => !isHere)
  if (held.length === 0) return null
  return (
    <section>
      <h2>On hold elsewhere: {held.length}</h2>
      <p class="hint">
        Held by a call in another process, by one in a process that has stopped, or for a charge that could
        not be posted. A hold that is not settled is freed at the time shown here.
      </p>
      <Table
        caption="Held by calls in other processes or in processes that have stopped"
        rows={held}
        keyOf={({ requestId }) => requestId}
        columns={[
          { head: 'Request', cell: ({ requestId }) => <code>{requestId}</code> },
          { head: 'Account', cell: ({ account }) => account ?? '–' },
          { head: 'Model', cell: ({ model }) => <Id of={model} /> },
          { head: 'On hold', isNumber: true, cell: ({ holdAmount }) => <Amount value={holdAmount} /> },
          { head: 'Freed at', cell: ({ freedAt }) => <Time at={freedAt} /> },
        ]}
      />
    </section>
  )
}

const FLAWS: Readonly<Record<RouteFlaw, string>> = {
  key: 'the provider refuses its key',
  credit: 'its account has no credit at the provider',
  model: 'the provider does not know the model',
}

/** The health of routes, in columns that the page of routes has too. */
export const healthColumns: readonly Omit<Column<RouteHealth | undefined>, 'sortBy'>[] = [
  { head: 'State', cell: (health) => <HealthBadge health={health} /> },
  {
    head: 'First token',
    isNumber: true,
    cell: (health) => (health?.firstTokenMs === undefined ? '–' : formatDuration(health.firstTokenMs)),
  },
  {
    head: 'Tokens per second',
    isNumber: true,
    cell: (health) => (health?.tokensPerSecond === undefined ? '–' : health.tokensPerSecond.toFixed(1)),
  },
  {
    head: 'Recent failures',
    isNumber: true,
    cell: (health) => (health === undefined ? '–' : `${(health.failureRate * 100).toFixed(0)} %`),
  },
  { head: 'Last error', cell: (health) => <LastError error={health?.lastError} /> },
]

/** Refused requests count too, since the provider has answered them. */
function HealthBadge({ health }: { health: RouteHealth | undefined }) {
  if (health === undefined) return <Badge>no calls yet</Badge>
  switch (health.state) {
    case 'closed':
      return <Badge tone="good">in use</Badge>
    case 'half-open':
      return <Badge tone="warn">the next call decides</Badge>
    case 'open':
      return <Badge tone="bad">failing, probed at intervals</Badge>
    case 'misconfigured':
      return <Badge tone="bad">misconfigured{health.flaw && `: ${FLAWS[health.flaw]}`}</Badge>
  }
}

function LastError({ error }: { error: RouteHealth['lastError'] }) {
  if (error === undefined) return '–'
  return (
    <>
      <Time at={error.at} /> {error.why}
    </>
  )
}

function Health({ routes }: { routes: LiveReply['routes'] }) {
  if (routes.length === 0) {
    return (
      <Empty title="No call has ended yet.">
        Each route appears here with its health when its first call has ended.
      </Empty>
    )
  }
  return (
    <Table
      caption="Routes and their health"
      rows={routes}
      keyOf={({ routeId }) => routeId}
      columns={[
        { head: 'Route', cell: ({ routeId }) => <Id of={routeId} /> },
        { head: 'Provider', cell: ({ provider }) => provider },
        ...healthColumns,
      ]}
    />
  )
}
