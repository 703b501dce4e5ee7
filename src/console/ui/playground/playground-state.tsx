import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Place } from '../base/place.js'
import { useSession } from '../base/session.js'
import { noParameters, type Parameters } from './call-body.js'
import { unansweredText } from './messages.js'
import { type Conversation, useConversation } from './use-conversation.js'

/** The model, the account that pays, and the app: `''` for none, `*own` for a pasted token. */
export interface Choice {
  readonly model?: string
  readonly account?: string
  readonly app?: string
}

/** The state of the playground that stays while other pages are shown. A reply continues to arrive meanwhile. */
export interface PlaygroundState {
  readonly conversation: Conversation
  readonly baseUrl: string
  /** Increases whenever a balance may have changed. */
  readonly paid: number
  readonly parameters: Parameters
  readonly setParameters: (parameters: Parameters) => void
  readonly draft: string
  readonly setDraft: (draft: string) => void
  readonly choice: Choice
  /** Changes the given members; the others stay. */
  readonly choose: (choice: Choice) => void
}

const PlaygroundContext = createContext<PlaygroundState | undefined>(undefined)

export function PlaygroundKeeper({ children }: { children: ComponentChildren }) {
  const { routerPath } = useSession()
  const baseUrl = new URL(routerPath, location.href).href.replace(/\/$/, '')
  const [paid, setPaid] = useState(0)
  const [parameters, setParameters] = useState(noParameters)
  const [draft, setDraft] = useState('')
  const [choice, setChoice] = useState<Choice>({})
  const choose = (more: Choice): void => setChoice((before) => ({ ...before, ...more }))
  const conversation = useConversation(baseUrl, () => setPaid((count) => count + 1))
  const { isRunning, turns } = conversation
  useEffect(() => {
    const again = isRunning ? undefined : unansweredText(turns)
    if (again !== undefined) setDraft((before) => (before === '' ? again : before))
  }, [isRunning])
  const state = { conversation, baseUrl, paid, parameters, setParameters, draft, setDraft, choice, choose }
  return <PlaygroundContext.Provider value={state}>{children}</PlaygroundContext.Provider>
}

export function usePlayground(): PlaygroundState {
  const state = useContext(PlaygroundContext)
  if (state === undefined) throw new Error('usePlayground needs a PlaygroundKeeper above it')
  return state
}

/** Returns the choice that an address contains. */
export function namedIn({ model, account, app }: Place['query']): Choice {
  return {
    ...(model !== undefined && { model }),
    ...(account !== undefined && { account }),
    ...(app !== undefined && { app }),
  }
}
