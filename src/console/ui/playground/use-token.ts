import { write } from '../api.js'
import { useSession } from '../session.js'

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

/** Makes a token for an hour when one is needed. It stays in the memory of this page, and nowhere else. */
export function useToken(): { take(role: Role): Promise<string>; drop(role: Role): void } {
  const { tokens } = useSession()
  const keyOf = ({ account, appId }: Role): string => JSON.stringify([account, appId])
  return {
    async take(role) {
      const { account, appId, ownToken } = role
      if (ownToken !== undefined || account === undefined) return ownToken ?? ''
      const found = tokens.get(keyOf(role))
      if (found !== undefined && found.expiresAt > Date.now() + SPARE_MS) return found.token
      const { token, expiresAt = Number.POSITIVE_INFINITY } = await write('api/credentials/playground', {
        account,
        ...(appId === undefined ? {} : { appId }),
      })
      tokens.set(keyOf(role), { token, expiresAt })
      return token
    },
    drop: (role) => {
      tokens.delete(keyOf(role))
    },
  }
}
