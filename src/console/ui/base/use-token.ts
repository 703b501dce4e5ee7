import type { SeenTerms } from '../../protocol.js'
import { write } from './api.js'
import { type Session, useSession } from './session.js'

/** The account and the credential of the playground's calls. */
export interface Role {
  /** Unknown if the token is the user's own. */
  readonly account?: string
  /** Calls use an access token of this app or, if undefined, an API key of the account. */
  readonly appId?: string
  /** The terms of the app that the page shows. */
  readonly terms?: SeenTerms
  /** The user's own token, used instead of one that the console makes. */
  readonly ownToken?: string
}

const SPARE_MS = 60_000

/**
 * Creates a token for an hour when one is needed. It exists only in the memory of this page, so nobody has it once the
 * page is left. {@link withdrawTokens} then revokes it.
 */
export function useToken(): { obtain(role: Role): Promise<string>; drop(role: Role): void } {
  const { tokens } = useSession()
  const keyOf = ({ account, appId, terms }: Role): string => JSON.stringify([account, appId, terms])
  return {
    async obtain(role) {
      const { account, appId, ownToken, terms } = role
      if (ownToken !== undefined || account === undefined) return ownToken ?? ''
      const found = tokens.get(keyOf(role))
      if (found !== undefined && found.expiresAt > Date.now() + SPARE_MS) return found.token
      const made = await write('keys/playground', { account, appId, terms })
      tokens.set(keyOf(role), made)
      return made.token
    },
    drop: (role) => {
      tokens.delete(keyOf(role))
    },
  }
}

/** Revokes all tokens. The requests outlive the page; if one is lost, its token still expires after its hour. */
export async function withdrawTokens(tokens: Session['tokens']): Promise<void> {
  const ended = [...tokens.values()]
  tokens.clear()
  await Promise.allSettled(
    ended.map(({ credentialId }) => write('keys/revoke', { credentialId }, { keepalive: true })),
  )
}
