import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { MeReply, Viewer } from '../../protocol.js'

export interface PlaygroundToken {
  readonly credentialId: string
  readonly token: string
  readonly expiresAt: number
}

/** The viewer, and services of the whole page for its parts. */
export interface Session extends MeReply {
  /** The playground's tokens, only in memory. They are revoked when the page is left. */
  readonly tokens: Map<string, PlaygroundToken>
  /** Shows a dialog in place of the previous one. */
  open(dialog: (close: () => void) => ComponentChildren): void
  /** Announces a completed action on the screen and to screen readers. */
  announce(message: string): void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('useSession needs a SessionContext above it')
  return session
}

export function isOperator(viewer: Viewer): boolean {
  return viewer.kind === 'operator'
}

/** Returns a user's account; undefined for an operator. */
export function ownAccount(viewer: Viewer): string | undefined {
  return viewer.kind === 'user' ? viewer.account : undefined
}
