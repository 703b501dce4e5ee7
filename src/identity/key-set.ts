import type { JWTVerifyGetKey } from 'jose'
import { readText } from './read-text.js'

/** Key sets have a few kilobytes. The text of a larger one is not read to its end. */
const MAX_BYTES = 262_144
const TIMEOUT_MS = 5_000
const KEPT_MS = 600_000
/** Tokens with unknown keys cause at most one fetch in this time. */
const COOLDOWN_MS = 30_000
/** Without any keys, a failed fetch is repeated after this time. */
const RETRY_MS = 1_000

/**
 * Returns the public keys of an issuer. They are fetched when they are first needed, and kept for 10 minutes. A key that is
 * not among them causes one fetch in 30 seconds. Rejects if the keys cannot be fetched.
 */
export function remoteKeySet(jose: typeof import('jose'), url: URL): JWTVerifyGetKey {
  let failure: { readonly error: unknown; readonly at: number } | undefined
  const keys: ReturnType<typeof jose.createRemoteJWKSet> = jose.createRemoteJWKSet(url, {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: KEPT_MS,
    // The library waits between fetches only after a successful one, so invented keys would keep a failing issuer busy.
    async [jose.customFetch](address, init) {
      const waitMs = keys.fresh ? COOLDOWN_MS : RETRY_MS
      if (failure !== undefined && Date.now() < failure.at + waitMs) throw failure.error
      try {
        const response = await fetch(address, init)
        if (response.status !== 200) throw new Error(`The key set answered with status ${response.status}`)
        const set: unknown = JSON.parse(await readText(response, MAX_BYTES))
        failure = undefined
        return Response.json(set)
      } catch (error) {
        failure = { error, at: Date.now() }
        throw error
      }
    },
  })
  return keys
}
