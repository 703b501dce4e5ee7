import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { MeReply, Viewer } from '../../protocol/index.js'

export interface PlaygroundToken {
  readonly credentialId: string
  readonly token: string
  readonly expiresAt: number
}

/** Who looks at the pages, and what the whole page can do for a part of it. */
export interface Session extends MeReply {
  /** Tokens of the playground, in memory alone: they are withdrawn when the page is left. */
  readonly tokens: Map<string, PlaygroundToken>
  /** Shows a dialog in place of the one before. */
  open(dialog: (close: () => void) => ComponentChildren): void
  /** Says what was done, to be seen and to be heard. */
  announce(message: string): void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('There is no session above this part')
  return session
}

export function isOperator(viewer: Viewer): boolean {
  return viewer.kind === 'operator'
}

/** The account that a user has; of an operator there is none. */
export function ownAccount(viewer: Viewer): string | undefined {
  return viewer.kind === 'user' ? viewer.account : undefined
}
