import type { ComponentChildren, ComponentType } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { MeReply } from '../protocol.js'
import { read, SIGNED_OUT_EVENT } from './base/api.js'
import { hrefOf, type Place, usePlace } from './base/place.js'
import { asProblem, type Problem } from './base/problem.js'
import { isOperator, type Session, SessionContext } from './base/session.js'
import { withdrawTokens } from './base/use-token.js'
import { Accounts } from './pages/accounts.js'
import { Apps } from './pages/apps.js'
import { Audit } from './pages/audit.js'
import { Books } from './pages/books.js'
import { Calls } from './pages/calls.js'
import { ConnectedApps } from './pages/connected-apps.js'
import { Home } from './pages/home.js'
import { Keys } from './pages/keys.js'
import { Live } from './pages/live.js'
import { Models } from './pages/models.js'
import { OwnApps } from './pages/own-apps.js'
import { Playground } from './pages/playground.js'
import { Routes } from './pages/routes.js'
import { Spend } from './pages/spend.js'
import { Button } from './parts/basics.js'
import { Dialog } from './parts/dialogs.js'
import { Empty, Guard, Loading, Notice, ProblemNotice } from './parts/notice.js'
import { type NavigationLink, Shell } from './parts/shell.js'
import { PlaygroundKeeper } from './playground/playground-state.js'

interface Page extends NavigationLink {
  readonly component: ComponentType<{ query: Place['query'] }>
  readonly isForOperators?: boolean
  readonly isForPublishers?: boolean
}

const PAGES: readonly Page[] = [
  { path: 'home', label: 'Home', component: Home },
  { path: 'playground', label: 'Playground', component: Playground },
  { path: 'spend', label: 'Spend', component: Spend },
  { path: 'calls', label: 'Calls', component: Calls },
  { path: 'live', label: 'Live', component: Live },
  { path: 'keys', label: 'Keys', component: Keys, startsGroup: true },
  { path: 'accounts', label: 'Accounts', component: Accounts },
  { path: 'connected-apps', label: 'Connected apps', component: ConnectedApps },
  { path: 'own-apps', label: 'My apps', component: OwnApps, isForPublishers: true },
  { path: 'apps', label: 'Apps', component: Apps },
  { path: 'models', label: 'Models', component: Models },
  { path: 'routes', label: 'Routes', component: Routes, isForOperators: true },
  { path: 'books', label: 'Books', component: Books, isForOperators: true },
  { path: 'audit', label: 'Audit log', component: Audit, isForOperators: true },
]

export function App() {
  const [me, setMe] = useState<MeReply>()
  const [problem, setProblem] = useState<Problem>()
  const [out, setOut] = useState<'left' | 'ended'>()
  const look = useCallback(() => {
    read('me', {})
      .then((now) => {
        setProblem(undefined)
        setOut(undefined)
        setMe((before) => (before !== undefined && keyOf(before) === keyOf(now) ? before : now))
      })
      .catch((caught: unknown) => {
        const found = asProblem(caught)
        setProblem(found)
        if (found.status === 401) setOut((before) => before ?? 'ended')
      })
  }, [])
  const lookAnew = useCallback(() => {
    setProblem(undefined)
    look()
  }, [look])
  useEffect(() => {
    look()
    const leave = (event: Event): void => {
      if (event instanceof CustomEvent) {
        setOut('left')
        setMe(undefined)
        setProblem(undefined)
      }
      look()
    }
    // Somebody else may have signed in on another tab: later replies are theirs.
    const lookAgain = (): void => {
      if (!document.hidden) look()
    }
    window.addEventListener(SIGNED_OUT_EVENT, leave)
    document.addEventListener('visibilitychange', lookAgain)
    return () => {
      window.removeEventListener(SIGNED_OUT_EVENT, leave)
      document.removeEventListener('visibilitychange', lookAgain)
    }
  }, [look])
  const notice =
    problem === undefined ? (
      <Loading what="the console" />
    ) : problem.status === 401 ? (
      <SignedOut problem={problem} out={out} onRetry={lookAnew} />
    ) : (
      <ProblemNotice problem={problem} onRetry={lookAnew} />
    )
  if (me === undefined) {
    return (
      <main class="alone">
        <h1>Console</h1>
        {notice}
      </main>
    )
  }
  const isOut = out !== undefined
  return (
    <>
      <div key={keyOf(me)} class={isOut ? 'veiled' : ''}>
        <Signed me={me} />
      </div>
      {isOut && (
        <Dialog title="Your session has ended" onClose={lookAnew} isSticky>
          <p class="intro">
            Sign in again in another tab, then come back. Everything you have open here stays as it is.
          </p>
          {notice}
        </Dialog>
      )}
    </>
  )
}

/** A key for each viewer, so that nothing on one viewer's page is left for another. */
const keyOf = ({ viewer }: MeReply): string => JSON.stringify(viewer)

const NOT_SIGNED_IN = 'You are not signed in.'

/** Not an error: shows how to sign in, in the server's words. */
function SignedOut(props: { problem: Problem; out: 'left' | 'ended' | undefined; onRetry: () => void }) {
  const { message } = props.problem
  const hint = message.startsWith(NOT_SIGNED_IN) ? message.slice(NOT_SIGNED_IN.length) : message
  return (
    <div role="status">
      <Notice title={props.out === 'left' ? 'You have signed out.' : NOT_SIGNED_IN}>
        <p>{hint}</p>
        <Button onPress={props.onRetry}>Try again</Button>
      </Notice>
    </div>
  )
}

function Signed({ me }: { me: MeReply }) {
  const place = usePlace()
  const [dialog, setDialog] = useState<{ number: number; content: ComponentChildren }>()
  const [message, setMessage] = useState({ number: 0, text: '' })
  const numbers = useRef(0)
  const session = useMemo<Session>(
    () => ({
      ...me,
      tokens: new Map(),
      open: (make) => setDialog({ number: ++numbers.current, content: make(() => setDialog(undefined)) }),
      announce: (text) => setMessage(({ number }) => ({ number: number + 1, text })),
    }),
    [me],
  )
  useEffect(() => {
    const withdraw = (): void => {
      withdrawTokens(session.tokens).catch(() => undefined)
    }
    window.addEventListener('pagehide', withdraw)
    return () => window.removeEventListener('pagehide', withdraw)
  }, [session])
  const pages = PAGES.filter(
    ({ isForOperators, isForPublishers }) =>
      (isForOperators !== true || isOperator(me.viewer)) && (isForPublishers !== true || me.publishes),
  )
  const path = place.page === '' ? PAGES[0]!.path : place.page
  const page = pages.find((one) => one.path === path)
  return (
    <SessionContext.Provider value={session}>
      <Shell links={pages} current={path} title={page?.label ?? 'Not found'} message={message}>
        <PlaygroundKeeper>
          {page === undefined ? (
            <NotFound path={path} />
          ) : (
            <Guard key={path}>
              <page.component query={place.query} />
            </Guard>
          )}
        </PlaygroundKeeper>
      </Shell>
      {dialog !== undefined && <div key={dialog.number}>{dialog.content}</div>}
    </SessionContext.Provider>
  )
}

function NotFound({ path }: { path: string }) {
  const known = PAGES.find((page) => page.path === path)
  return (
    <>
      <h1 id="page-title" tabIndex={-1}>
        {known === undefined ? 'There is no such page' : known.label}
      </h1>
      <Empty
        title={
          known === undefined
            ? 'The console has no page at this address.'
            : known.isForPublishers
              ? 'This page is for accounts that publish apps.'
              : 'This page is for operators.'
        }
      >
        Go to the <a href={hrefOf('playground')}>playground</a>.
      </Empty>
    </>
  )
}
