import { mayBeIssued } from '../base/tokens.js'
import type { OauthModel } from '../contracts/index.js'
import { cleanLabel } from '../protocol/text.js'
import { doubledParameter, readForm, sendJson } from './requests.js'
import { clientAddressOf, refuseJson, type Services, type Visit } from './services.js'

export type TokenEndpoint = 'token' | 'revoke' | 'introspect'

/** `POST /token`, `/revoke` and `/introspect`, and their preflights. The library answers them, within rate limits. */
export async function callTokenEndpoint(
  services: Services,
  visit: Visit,
  where: TokenEndpoint,
): Promise<void> {
  const { library, settings } = services
  const { req, res } = visit
  if (req.method === 'OPTIONS') {
    await library.serve(req, res, { method: 'OPTIONS', path: `/${where}`, accept: 'application/json' })
    return
  }
  const form = await readForm(req)
  if (form === undefined) {
    const type = 'the body must be a form: application/x-www-form-urlencoded, of at most 32 KiB'
    refuseJson(visit, 400, 'invalid_request', type)
    return
  }
  const wait = await takeRate(services, visit, where, form)
  if (wait !== undefined) {
    settings.emit({ type: 'connect-rate-limited', where })
    const error = { error: 'temporarily_unavailable', error_description: `wait ${wait} seconds` }
    sendJson(req, res, 429, error, { 'retry-after': String(wait), 'access-control-allow-origin': '*' })
    return
  }
  const doubled = doubledParameter(form)
  if (doubled !== undefined) {
    const text = `the parameter ${cleanLabel(doubled, 64)} is given more than once`
    refuseJson(visit, 400, 'invalid_request', text)
    return
  }
  await library.serve(req, res, { method: 'POST', path: `/${where}`, form, accept: 'application/json' })
}

/**
 * Counts a request. Returns the seconds to wait if there were too many. An app's server refreshes the tokens of all its
 * users from one address, and strangers share addresses too, so the address counts only if the token does not exist.
 */
async function takeRate(
  { limits, settings }: Services,
  { req }: Visit,
  where: TokenEndpoint,
  form: URLSearchParams,
): Promise<number | undefined> {
  const holder = await findHolder(settings.store, where, form)
  if (holder !== undefined) return limits.tokens.take(JSON.stringify([holder.appId, holder.account]))
  const address = clientAddressOf(settings, req)
  // A resource server asks about whatever its own clients send.
  return where === 'introspect' ? limits.tokens.take(address) : limits.unknownTokens.take(address)
}

interface Holder {
  readonly appId: string
  readonly account: string
}

/** Returns the app and the user of the code or token in a form. Undefined if it does not exist. */
async function findHolder(
  store: Services['settings']['store'],
  where: TokenEndpoint,
  form: URLSearchParams,
): Promise<Holder | undefined> {
  const ofRow = async (model: OauthModel, id: string | null): Promise<Holder | undefined> => {
    const { clientId, accountId } =
      (id === null ? undefined : await store.findOauth(model, id))?.payload ?? {}
    return typeof clientId === 'string' && typeof accountId === 'string'
      ? { appId: clientId, account: accountId }
      : undefined
  }
  if (where === 'token') {
    return form.get('grant_type') === 'authorization_code'
      ? ofRow('AuthorizationCode', form.get('code'))
      : ofRow('RefreshToken', form.get('refresh_token'))
  }
  const token = form.get('token') ?? ''
  return mayBeIssued(token) ? store.findToken(token) : ofRow('RefreshToken', token)
}
