/** The scopes of the router's access tokens, and what each one allows. */
export const SCOPES: ReadonlyMap<string, string> = new Map([
  ['models.run', 'use models and spend your credits'],
  ['credits.read', 'see your balance and what its calls cost'],
])

export const DEFAULT_SCOPE = 'models.run'

/** Scopes of OpenID Connect that many clients always send. There is no id token, and refresh tokens need no scope. */
const DROPPED: readonly string[] = ['openid', 'profile', 'email', 'offline_access']

/** Returns the requested scopes without those of OpenID Connect. Returns the default if none is left. */
export function requestedScopes(text: string | undefined): string {
  const scopes = (text ?? '').split(' ').filter((scope) => scope !== '' && !DROPPED.includes(scope))
  return scopes.length === 0 ? DEFAULT_SCOPE : scopes.join(' ')
}
