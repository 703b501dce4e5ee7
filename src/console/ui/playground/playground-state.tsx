import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Place } from '../base/place.js'
import { useSession } from '../base/session.js'
import { noParameters, type Parameters } from './call-body.js'
import { unansweredText } from './messages.js'
import { type Conversation, useConversation } from './use-conversation.js'

/** With which model, for whom, and through which app: `''` for none, `*own` for a token that is pasted. */
export interface Choice {
  readonly model?: string
  readonly account?: string
  readonly app?: string
}

/** What stays of the playground while other pages are shown: a reply goes on coming in meanwhile. */
export interface PlaygroundState {
  readonly conversation: Conversation
  readonly baseUrl: string
  /** Counts the calls whose charge has come since: a balance may have moved. */
  readonly paid: number
  readonly parameters: Parameters
  readonly setParameters: (parameters: Parameters) => void
  readonly draft: string
  readonly setDraft: (draft: string) => void
  readonly choice: Choice
  /** Takes what is given; the rest stays as it was chosen. */
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
  if (state === undefined) throw new Error('There is no playground kept above this part')
  return state
}

/** Of the address, what says with whom one talks. */
export function namedIn({ model, account, app }: Place['query']): Choice {
  return {
    ...(model !== undefined && { model }),
    ...(account !== undefined && { account }),
    ...(app !== undefined && { app }),
  }
}
