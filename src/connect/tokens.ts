import { type ConnectRequest, readForm, sendJson } from './requests.js'
import { clientAddressOf, refuseJson, type Services, type Visit } from './services.js'

export type TokenEndpoint = 'token' | 'revoke' | 'introspect'

/** `POST /token`, `/revoke` and `/introspect`, and their preflights. The library answers them, within rate limits. */
export async function callTokenEndpoint(
  services: Services,
  visit: Visit,
  where: TokenEndpoint,
): Promise<void> {
  const { library, limits, settings } = services
  const { req, res } = visit
  if (req.method === 'OPTIONS') {
    await library.serve(req, res, { method: 'OPTIONS', path: `/${where}`, accept: 'application/json' })
    return
  }
  const form = await readForm(req as ConnectRequest)
  if (form === undefined) {
    const type = 'the body must be a form: application/x-www-form-urlencoded, of at most 32 KiB'
    refuseJson(visit, 400, 'invalid_request', type)
    return
  }
  const address = clientAddressOf(settings, req)
  const app = form.get('client_id') ?? basicUser(req.headers.authorization)
  const wait = limits.failures.waitOf(address) ?? limits.calls.take(`${app.slice(0, 200)} ${address}`)
  if (wait !== undefined) {
    settings.emit({ type: 'connect-rate-limited', where })
    const error = { error: 'temporarily_unavailable', error_description: `wait ${wait} seconds` }
    sendJson(req, res, 429, error, { 'retry-after': String(wait), 'access-control-allow-origin': '*' })
    return
  }
  await library.serve(req, res, { method: 'POST', path: `/${where}`, form, accept: 'application/json' })
  if (res.statusCode >= 400 && res.statusCode < 500) limits.failures.take(address)
}

function basicUser(authorization: string | undefined): string {
  const encoded = /^basic +(.+)$/i.exec(authorization ?? '')?.[1] ?? ''
  return Buffer.from(encoded, 'base64').toString().split(':')[0]!
}
