import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createToken } from '../base/tokens.js'
import { createAdapters } from './adapter.js'
import type { Addresses } from './model/addresses.js'
import type { Settings } from './model/options.js'
import { SCOPES } from './model/scopes.js'
import {
  type Interaction,
  loadOidcProvider,
  type OidcClient,
  type OidcContext,
  type OidcError,
  type OidcModule,
  type OidcProvider,
} from './oidc-provider.js'
import { type LibraryRequest, libraryRequest } from './requests.js'
import { seal } from './seal.js'

const MINUTE = 60
const DAY = 24 * 60 * MINUTE
const ACCESS_TOKEN_SECONDS = 60 * MINUTE
/** A connection that does not refresh for this long has ended. */
const REFRESH_TOKEN_SECONDS = 90 * DAY
export const REQUEST_SECONDS = 30 * MINUTE

const COOKIES = {
  session: 'connect_session',
  interaction: 'connect_request',
  resume: 'connect_resume',
} as const

/** The parameter in which an open request stores the account that made it. Clients cannot set it. */
export const ACCOUNT_PARAMETER = 'connect_account'

export interface ErrorPage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The library's authorization server, reduced to what Connect uses of it. */
export interface Library {
  /** Lets the library answer the request. */
  serve(req: IncomingMessage, res: ServerResponse, request: LibraryRequest): Promise<void>
  /** Returns the open request that a page belongs to, if its cookie came with this HTTP request. */
  findRequest(req: IncomingMessage, res: ServerResponse, id: string): Promise<Interaction | undefined>
  /** Returns the open request whose page has been answered, if its cookie came with this HTTP request. */
  findAnswered(req: IncomingMessage, id: string): Promise<Interaction | undefined>
  destroyRequest(id: string): Promise<void>
  /** Completes an open request. Returns the address to which the browser must continue. */
  finish(req: IncomingMessage, res: ServerResponse, result: FinishedRequest): Promise<string>
}

/** A connection, or the user's refusal. */
export type FinishedRequest =
  | { readonly account: string; readonly connectionId: string }
  | { readonly error: 'access_denied'; readonly description: string }

export async function createLibrary(
  settings: Settings,
  addresses: Addresses,
  hooks: {
    readonly onRequestOpened: (account: string, id: string) => void
    readonly renderError: (error: string, description: string | undefined) => ErrorPage
  },
): Promise<Library> {
  const module = await loadOidcProvider()
  const provider = new module.Provider(addresses.issuer, configuration(module, settings, addresses, hooks))
  provider.proxy = true
  prefixTokens(provider)
  provider.use(hideSession)
  provider.use(hideAccounts(settings.secrets))
  listen(provider, settings.emit)
  const handle = provider.callback()
  const isCookie = (name: string): boolean =>
    Object.values(COOKIES).some((known) => name === known || name === `${known}.sig`)
  const own = (req: IncomingMessage, request: LibraryRequest): IncomingMessage =>
    libraryRequest(req, request, addresses, isCookie)
  const page = (req: IncomingMessage): IncomingMessage =>
    own(req, { method: 'GET', path: '/', accept: 'text/html' })

  return {
    serve: (req, res, request) => handle(own(req, request), res),
    async findRequest(req, res, id) {
      try {
        const found = await provider.interactionDetails(page(req), res)
        return found.uid === id ? found : undefined
      } catch (error) {
        if ((error as OidcError).expose === true) return undefined
        throw error
      }
    },
    async findAnswered({ headers }, id) {
      // The library verifies the signature, but reads the id from the cookie alone.
      const cookies = (headers.cookie ?? '').split(/; */)
      const named = cookies.filter((pair) => pair.startsWith(`${COOKIES.resume}=`))
      if (named.length !== 1 || named[0] !== `${COOKIES.resume}=${id}`) return undefined
      return provider.Interaction.find(id)
    },
    async destroyRequest(id) {
      const found = await provider.Interaction.find(id)
      await found?.destroy()
    },
    finish: (req, res, result) =>
      provider.interactionResult(
        page(req),
        res,
        'error' in result
          ? { error: result.error, error_description: result.description }
          : {
              login: { accountId: result.account, remember: false },
              consent: { grantId: result.connectionId },
            },
      ),
  }
}

function configuration(
  module: OidcModule,
  settings: Settings,
  { mount, router }: Addresses,
  hooks: Parameters<typeof createLibrary>[2],
): object {
  const { Check, Prompt } = module.interactionPolicy
  const { InvalidScope, InvalidTarget } = module.errors
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, overwrite: true }
  const untilEnd = (context: OidcContext, longest: number): number => {
    const end = context.oidc?.entities.Grant?.exp
    return end === undefined ? longest : Math.max(1, Math.min(longest, end - Math.floor(Date.now() / 1_000)))
  }
  return {
    adapter: createAdapters(module, settings),
    // Scopes that are also listed here would be requested twice.
    scopes: [],
    clientAuthMethods: settings.introspect.length === 0 ? ['none'] : ['none', 'client_secret_basic'],
    clients: settings.introspect.map(({ id, secret }) => ({
      client_id: id,
      client_secret: secret,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: [],
      response_types: [],
      redirect_uris: [],
    })),
    // The library needs a key although nothing is signed with it.
    jwks: { keys: [throwawayKey()] },
    clientDefaults: {
      id_token_signed_response_alg: 'ES256',
      response_modes: ['query'],
      grant_types: ['authorization_code', 'refresh_token'],
    },
    responseTypes: ['code'],
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    expiresWithSession: () => false,
    revokeGrantPolicy: () => true,
    extraParams: [ACCOUNT_PARAMETER],
    findAccount: (_context: OidcContext, account: string) => ({
      accountId: account,
      claims: () => ({ sub: account }),
    }),
    interactions: {
      url: (context: OidcContext, { uid }: Interaction) => {
        hooks.onRequestOpened(context.oidc?.params[ACCOUNT_PARAMETER] ?? '', uid)
        return `${mount}/ask/${uid}`
      },
      policy: [
        new Prompt(
          { name: 'login', requestable: false },
          new Check(
            'signed_out',
            'the user has not signed in',
            'login_required',
            ({ oidc }) => oidc?.params[ACCOUNT_PARAMETER] === undefined,
          ),
        ),
        new Prompt(
          { name: 'consent', requestable: true },
          new Check(
            'unanswered',
            'the user must agree first',
            'consent_required',
            ({ oidc }) => oidc?.result?.consent === undefined,
          ),
        ),
      ],
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      claimsParameter: { enabled: false },
      revocation: {
        enabled: true,
        allowedPolicy: (_: OidcContext, client: OidcClient, token: { clientId: string }) =>
          token.clientId === client.clientId,
      },
      introspection: {
        enabled: true,
        allowedPolicy: (_: OidcContext, client: OidcClient, token: { clientId: string }) =>
          token.clientId === client.clientId || settings.introspect.some(({ id }) => id === client.clientId),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => router,
        useGrantedResource: () => true,
        getResourceServerInfo({ oidc }: OidcContext, resource: string) {
          if (resource !== router) throw new InvalidTarget()
          const unknown = [...(oidc?.requestParamScopes ?? [])].filter((scope) => !SCOPES.has(scope))
          if (unknown.length > 0) throw new InvalidScope('there is no such scope', unknown.join(' '))
          return { scope: [...SCOPES.keys()].join(' '), audience: router }
        },
      },
    },
    clientBasedCORS: (_: OidcContext, origin: string, client: OidcClient) =>
      client.redirectUris.some((uri) => isOriginOf(uri, origin)),
    cookies: {
      names: COOKIES,
      keys: settings.secrets,
      short: cookie,
      long: { ...cookie, path: mount },
    },
    routes: {
      authorization: '/authorize',
      token: '/token',
      revocation: '/revoke',
      introspection: '/introspect',
    },
    ttl: {
      AccessToken: (context: OidcContext) => untilEnd(context, ACCESS_TOKEN_SECONDS),
      AuthorizationCode: MINUTE,
      RefreshToken: (context: OidcContext) => untilEnd(context, REFRESH_TOKEN_SECONDS),
      Interaction: REQUEST_SECONDS,
      Session: REQUEST_SECONDS,
      Grant: DAY,
      IdToken: MINUTE,
    },
    renderError(context: OidcContext, out: { error: string; error_description?: string }) {
      const { body, headers } = hooks.renderError(out.error, out.error_description)
      context.set(headers)
      context.body = body
    },
  }
}

function throwawayKey(): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }
}

/** Makes tokens look like those that the admin functions issue. The library documents no option for this. */
function prefixTokens(provider: OidcProvider): void {
  provider.AccessToken.prototype.generateTokenId = function generateTokenId() {
    this.format = 'opaque'
    return createToken('access-token')
  }
  provider.RefreshToken.prototype.generateTokenId = () => createToken('refresh-token')
}

/** Hides the cookie of the library's session, which is never kept. */
async function hideSession(context: OidcContext, next: () => Promise<void>): Promise<void> {
  await next()
  const cookies = context.response.get('set-cookie')
  if (!Array.isArray(cookies)) return
  const others = cookies.filter((cookie) => !cookie.startsWith(COOKIES.session))
  if (others.length === 0) context.remove('set-cookie')
  else context.response.set('set-cookie', others)
}

/** An app and a resource server identify a user by a digest of account and app, never by the account. */
function hideAccounts(secrets: readonly string[]) {
  return async (context: OidcContext, next: () => Promise<void>): Promise<void> => {
    await next()
    const { body } = context
    if (context.oidc?.route !== 'introspection' || typeof body !== 'object' || body === null) return
    const { client_id: app, sub } = body as { client_id?: string; sub?: string }
    if (sub !== undefined) context.body = { ...body, sub: seal(secrets, 'subject', [app, sub]) }
  }
}

/**
 * Whether a page with this origin belongs to the app: one of its redirect URIs leads there, on any port if it is on
 * loopback.
 */
function isOriginOf(uri: string, origin: string): boolean {
  const own = new URL(uri)
  if (own.origin === origin) return true
  if (own.protocol !== 'http:' || !URL.canParse(origin)) return false
  const { hostname, protocol } = new URL(origin)
  return protocol === 'http:' && hostname === own.hostname
}

const ERROR_EVENTS = {
  'authorization.error': 'authorize',
  'grant.error': 'token',
  'revocation.error': 'revoke',
  'introspection.error': 'introspect',
} as const

function listen(provider: OidcProvider, emit: Settings['emit']): void {
  for (const [event, where] of Object.entries(ERROR_EVENTS)) {
    provider.on(event, ({ oidc }: OidcContext, { message }: OidcError) => {
      const appId = oidc?.client?.clientId
      emit({ type: 'connect-refused', where, error: message, ...(appId !== undefined && { appId }) })
    })
  }
  provider.on('server_error', ({ oidc }: OidcContext, { message, name }: OidcError) =>
    emit({ type: 'connect-fault', where: oidc?.route ?? 'library', error: { name, message } }),
  )
  provider.on('error', ({ message, name }: Error) =>
    emit({ type: 'connect-fault', where: 'library', error: { name, message } }),
  )
}
