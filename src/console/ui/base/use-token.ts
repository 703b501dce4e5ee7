import { write } from './api.js'
import { type Session, useSession } from './session.js'

/** Whom the playground calls for. */
export interface Role {
  /** Unknown where the token is the user's own. */
  readonly account?: string
  /** Through this app; with an API key of the account where it is undefined. */
  readonly appId?: string
  /** A token of the user's own in place of one that the console makes. */
  readonly ownToken?: string
}

const SPARE_MS = 60_000

/**
 * Makes a token for an hour when one is needed. It stays in the memory of this page, and nowhere else: when the page is
 * left nobody has it any more, and {@link withdrawTokens} ends it.
 */
export function useToken(): { take(role: Role): Promise<string>; drop(role: Role): void } {
  const { tokens } = useSession()
  const keyOf = ({ account, appId }: Role): string => JSON.stringify([account, appId])
  return {
    async take(role) {
      const { account, appId, ownToken } = role
      if (ownToken !== undefined || account === undefined) return ownToken ?? ''
      const found = tokens.get(keyOf(role))
      if (found !== undefined && found.expiresAt > Date.now() + SPARE_MS) return found.token
      const made = await write('api/credentials/playground', {
        account,
        ...(appId === undefined ? {} : { appId }),
      })
      tokens.set(keyOf(role), { expiresAt: Number.POSITIVE_INFINITY, ...made })
      return made.token
    },
    drop: (role) => {
      tokens.delete(keyOf(role))
    },
  }
}

/** Revokes them all. The requests outlive the page; a key that none of them reaches ends after its hour. */
export async function withdrawTokens(tokens: Session['tokens']): Promise<void> {
  const ended = [...tokens.values()]
  tokens.clear()
  await Promise.allSettled(
    ended.map(({ credentialId }) => write('api/credentials/revoke', { credentialId }, { keepalive: true })),
  )
}
