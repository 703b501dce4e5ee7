/** The scopes of the router's access tokens, with what each one lets an app do. */
export const SCOPES: ReadonlyMap<string, string> = new Map([
  ['models.run', 'use models and spend your credits'],
  ['credits.read', 'see your balance and what its calls cost'],
])

export const DEFAULT_SCOPE = 'models.run'

/** Scopes of OpenID Connect that many clients always send. There is no id token, and refresh tokens need no scope. */
const DROPPED: readonly string[] = ['openid', 'profile', 'email', 'offline_access']

/** Returns the scopes that a request asks for, without those of OpenID Connect. The default if none is left. */
export function requestedScopes(text: string | undefined): string {
  const scopes = (text ?? '').split(' ').filter((scope) => scope !== '' && !DROPPED.includes(scope))
  return scopes.length === 0 ? DEFAULT_SCOPE : scopes.join(' ')
}
