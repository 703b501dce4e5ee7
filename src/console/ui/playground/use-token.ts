import { useRef } from 'preact/hooks'
import { write } from '../api.js'

/** Whom the playground calls for. */
export interface Role {
  readonly account: string
  /** Through this app; with an API key of the account where it is undefined. */
  readonly appId?: string
  /** A token of the user's own in place of one that the console makes. */
  readonly ownToken?: string
}

interface Kept {
  readonly token: string
  readonly expiresAt: number
}

const SPARE_MS = 60_000

/** Makes a token for an hour when one is needed. It stays in the memory of this page, and nowhere else. */
export function useToken(): { take(role: Role): Promise<string>; drop(role: Role): void } {
  const kept = useRef(new Map<string, Kept>())
  const keyOf = ({ account, appId }: Role): string => JSON.stringify([account, appId])
  return {
    async take(role) {
      const { account, appId, ownToken } = role
      if (ownToken !== undefined) return ownToken
      const found = kept.current.get(keyOf(role))
      if (found !== undefined && found.expiresAt > Date.now() + SPARE_MS) return found.token
      const { token, expiresAt = Number.POSITIVE_INFINITY } = await write('api/credentials/playground', {
        account,
        ...(appId === undefined ? {} : { appId }),
      })
      kept.current.set(keyOf(role), { token, expiresAt })
      return token
    },
    drop: (role) => {
      kept.current.delete(keyOf(role))
    },
  }
}
