import { type ComponentChildren, createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { Place } from '../place.js'
import { useSession } from '../session.js'
import { noParameters, type Parameters } from './call-body.js'
import { type Conversation, useConversation } from './use-conversation.js'

/** What stays of the playground while other pages are shown: a reply goes on coming in meanwhile. */
export interface PlaygroundState {
  readonly conversation: Conversation
  readonly baseUrl: string
  /** Counts the calls whose charge has come since: a balance may have moved. */
  readonly paid: number
  readonly parameters: Parameters
  readonly setParameters: (parameters: Parameters) => void
  /** With which model, for whom and through what. */
  readonly query: Place['query']
  readonly setQuery: (query: Place['query']) => void
}

const PlaygroundContext = createContext<PlaygroundState | undefined>(undefined)

export function PlaygroundKeeper({ children }: { children: ComponentChildren }) {
  const { routerPath } = useSession()
  const baseUrl = new URL(routerPath, location.href).href.replace(/\/$/, '')
  const [paid, setPaid] = useState(0)
  const [parameters, setParameters] = useState(noParameters)
  const [query, setQuery] = useState<Place['query']>({})
  const conversation = useConversation(baseUrl, () => setPaid((count) => count + 1))
  const state = { conversation, baseUrl, paid, parameters, setParameters, query, setQuery }
  return <PlaygroundContext.Provider value={state}>{children}</PlaygroundContext.Provider>
}

export function usePlayground(): PlaygroundState {
  const state = useContext(PlaygroundContext)
  if (state === undefined) throw new Error('There is no playground kept above this part')
  return state
}
