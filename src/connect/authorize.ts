import { isLoopbackRedirect, matchesRedirectUri } from '../base/redirect-uris.js'
import type { RegisteredApp } from '../contracts/connect.js'
import { cleanLabel } from '../protocol/text.js'
import { mayConnect } from '../rules/connect-apps.js'
import { mayBeAppId } from './adapter.js'
import { ACCOUNT_PARAMETER } from './library.js'
import type { ConnectUser } from './model/options.js'
import { requestedScopes } from './model/scopes.js'
import { isCovered, termsOf } from './model/terms.js'
import type { Interaction } from './oidc-provider.js'
import { nameOf } from './pages/consent-page.js'
import { doubledParameter, redirect } from './requests.js'
import {
  clientAddressOf,
  findUser,
  mayGoOn,
  type Services,
  showError,
  showExpired,
  signIn,
  userOrSignIn,
  type Visit,
} from './services.js'

/**
 * The parameters that reach the library. Those of OpenID Connect are removed, and unknown ones are ignored (RFC 6749,
 * 3.1).
 */
const PASSED: readonly string[] = [
  'client_id',
  'response_type',
  'redirect_uri',
  'response_mode',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'prompt',
  // Refused by the library.
  'request',
  'request_uri',
  'registration',
]

/** `GET /authorize`. The app, its redirect URI and the user are verified before the library sees the request. */
export async function authorize(services: Services, visit: Visit): Promise<void> {
  const { limits, library, settings } = services
  const query = new URLSearchParams(visit.query)
  const user = await findUser(services, visit)
  const [limit, key] =
    user === undefined
      ? [limits.strangers, clientAddressOf(settings, visit.req)]
      : [limits.authorizations, user.account]
  if (!mayGoOn(services, visit, 'authorize', limit, key)) return
  const app = await findApp(services, visit, query)
  if (app === undefined) return
  const doubled = doubledParameter(query)
  if (doubled !== undefined) {
    settings.emit({ type: 'connect-refused', where: 'authorize', error: 'invalid_request', appId: app.id })
    const text = `the parameter ${cleanLabel(doubled, 64)} is given more than once`
    goBack(services, visit, query, { error: 'invalid_request', error_description: text })
    return
  }
  const isSilent = query.get('prompt') === 'none'
  if (user === undefined && !isSilent) {
    signIn(services, visit)
    return
  }
  // Nobody has reviewed the addresses of an app in test mode, so only its testers are sent there.
  if (user === undefined ? app.state === 'test' : !mayConnect(app, user.account)) {
    showError(
      services,
      visit,
      403,
      `${nameOf(app)} cannot be connected`,
      `${settings.host.name} has not yet opened it to everyone.`,
      { code: 'access_denied' },
    )
    return
  }
  const passed = passedParameters(query)
  if (user !== undefined) {
    passed.set(ACCOUNT_PARAMETER, user.account)
    // The page is not shown in this case, so the library need not be told to stay silent.
    if (isSilent && (await isSilentlyCovered(services, app, user, passed))) passed.delete('prompt')
  }
  await library.serve(visit.req, visit.res, {
    method: 'GET',
    path: `/authorize?${passed}`,
    accept: 'text/html',
  })
}

/** `GET /authorize/:uid`, where the browser continues after the page. */
export async function resume(services: Services, visit: Visit, id: string): Promise<void> {
  const user = await userOrSignIn(services, visit)
  if (user === undefined) return
  const { library } = services
  const request = await library.findAnswered(visit.req, id)
  if (request === undefined) {
    showExpired(services, visit)
    return
  }
  if (await restartIfOther(services, visit, request, user)) return
  if ((await findConnectable(services, visit, request, user)) === undefined) return
  await library.serve(visit.req, visit.res, {
    method: 'GET',
    path: `/authorize/${id}`,
    accept: 'text/html',
  })
}

/**
 * Returns the app of an open request in its current state. If its user can no longer connect it, or it has removed the
 * redirect URI since the request began, ends the request, shows an error and returns undefined: the code must not go
 * there.
 */
export async function findConnectable(
  services: Services,
  visit: Visit,
  { params, uid }: Interaction,
  user: ConnectUser,
): Promise<RegisteredApp | undefined> {
  const { library, settings } = services
  const app = await settings.store.findApp(params.client_id ?? '')
  const isAllowed = app !== undefined && mayConnect(app, user.account)
  if (isAllowed && isRegistered(app, params.redirect_uri ?? '')) return app
  await library.destroyRequest(uid)
  if (isAllowed) refuseRedirect(services, visit, app)
  else
    showError(services, visit, 403, 'This app cannot be connected', `${settings.host.name} has suspended it.`)
  return undefined
}

/** Discards an open request that another account made, and restarts it for this account. Returns whether it did. */
export async function restartIfOther(
  { addresses, library }: Services,
  { req, res }: Visit,
  { params, uid }: Interaction,
  user: ConnectUser,
): Promise<boolean> {
  if (params[ACCOUNT_PARAMETER] === user.account) return false
  await library.destroyRequest(uid)
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && name !== ACCOUNT_PARAMETER) query.set(name, value)
  }
  redirect(req, res, `${addresses.authorize}?${query}`)
  return true
}

/**
 * Returns the app if the request names one and one of its redirect URIs. Otherwise shows an error, because redirecting
 * would be unsafe.
 */
async function findApp(
  services: Services,
  visit: Visit,
  query: URLSearchParams,
): Promise<RegisteredApp | undefined> {
  const { settings } = services
  const doubled = ['client_id', 'redirect_uri'].find((name) => query.getAll(name).length > 1)
  if (doubled !== undefined) {
    const text = `The app that sent you here has given its ${doubled} more than once. For your safety, you stay here.`
    settings.emit({ type: 'connect-refused', where: 'authorize', error: 'invalid_request' })
    showError(services, visit, 400, 'Unclear request', text, { code: 'invalid_request' })
    return undefined
  }
  const id = query.get('client_id') ?? ''
  const app = mayBeAppId(id) ? await settings.store.findApp(id) : undefined
  if (app === undefined || app.suspended || app.redirectUris.length === 0) {
    settings.emit({ type: 'connect-refused', where: 'authorize', error: 'invalid_client' })
    showError(
      services,
      visit,
      400,
      'Unknown app',
      `${settings.host.name} does not know the app that sent you here, or has suspended it.`,
      { code: 'invalid_client' },
    )
    return undefined
  }
  if (isRegistered(app, query.get('redirect_uri') ?? '')) return app
  refuseRedirect(services, visit, app)
  return undefined
}

/** Redirects the browser to the app with an error. The redirect URI is known to be the app's. */
function goBack(
  { settings }: Services,
  { req, res }: Visit,
  query: URLSearchParams,
  error: Readonly<Record<string, string>>,
): void {
  const to = query.get('redirect_uri')!
  const [state, ...otherStates] = query.getAll('state')
  const answer = new URLSearchParams({
    ...error,
    ...(state !== undefined && otherStates.length === 0 && { state }),
    iss: settings.url,
  })
  redirect(req, res, `${to}${to.includes('?') ? '&' : '?'}${answer}`)
}

export function isRegistered(app: RegisteredApp, redirectUri: string): boolean {
  return app.redirectUris.some((registered) => matchesRedirectUri(registered, redirectUri))
}

export function refuseRedirect(services: Services, visit: Visit, app: RegisteredApp): void {
  const { settings } = services
  settings.emit({ type: 'connect-refused', where: 'authorize', error: 'invalid_redirect_uri', appId: app.id })
  showError(
    services,
    visit,
    400,
    'Wrong address',
    `${nameOf(app)} wants to send you to an address that it has not registered. For your safety, you stay here.`,
    { code: 'invalid_redirect_uri' },
  )
}

function passedParameters(query: URLSearchParams): URLSearchParams {
  const passed = new URLSearchParams()
  for (const name of PASSED) for (const value of query.getAll(name)) passed.append(name, value)
  const scopes = query.getAll('scope')
  if (scopes.length < 2) passed.set('scope', requestedScopes(scopes[0]))
  else for (const scope of scopes) passed.append('scope', scope)
  // The library would send its refusal in the requested way, such as in a fragment, even if only `query` is supported.
  for (const [name, supported] of [
    ['response_mode', 'query'],
    ['response_type', 'code'],
  ] as const) {
    const asked = query.get(name)
    if (asked !== null && asked !== '' && asked !== supported) passed.set(name, 'unsupported')
  }
  return passed
}

async function isSilentlyCovered(
  { settings }: Services,
  app: RegisteredApp,
  { account }: ConnectUser,
  passed: URLSearchParams,
): Promise<boolean> {
  if (isLoopbackRedirect(passed.get('redirect_uri') ?? '')) return false
  const scopes = (passed.get('scope') ?? '').split(' ')
  const connectedApp = await settings.store.findConnectedApp(account, app.id)
  return isCovered(termsOf(app, scopes, settings), connectedApp, settings)
}
