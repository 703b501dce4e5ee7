import type { OauthModel } from '../contracts/index.js'
import type { Settings } from './model/options.js'
import type { OidcAdapter, OidcModule } from './oidc-provider.js'

/** How long after its first use a refresh token still gives another pair: replies get lost, and tabs refresh at once. */
const REUSE_MS = 10_000
const MAX_APP_ID_CHARS = 256

/** Returns the library's adapter factory. Its rows are those of the store, and its grants are connections. */
export function createAdapters(
  { Provider, errors }: OidcModule,
  { emit, router, store, url }: Settings,
): (model: string) => OidcAdapter {
  /** Ends a connection because one of its tokens was presented again, or because its app revokes it. */
  async function endConnection(id: string, token: 'code' | 'refresh-token'): Promise<void> {
    const isRevocation = Provider.ctx?.oidc?.route === 'revocation'
    const ended = await store.endConnection(id, isRevocation ? 'revoked' : 'replayed')
    if (isRevocation && ended) emit({ type: 'connection-ended', connectionId: id })
    else if (ended) emit({ type: 'token-reused', connectionId: id, token })
  }

  const grants: Partial<OidcAdapter> = {
    async find(id) {
      const connection = await store.findConnection(id)
      if (connection === undefined) return undefined
      return {
        kind: 'Grant',
        jti: id,
        iat: seconds(connection.createdAt),
        ...(connection.endsAt !== undefined && { exp: seconds(connection.endsAt) }),
        accountId: connection.account,
        clientId: connection.appId,
        resources: { [router]: connection.scopes.join(' ') },
      }
    },
    async destroy(id) {
      await endConnection(
        id,
        Provider.ctx?.oidc?.params.grant_type === 'refresh_token' ? 'refresh-token' : 'code',
      )
    },
  }

  const accessTokens: Partial<OidcAdapter> = {
    async upsert(token, payload) {
      const saved = await store.saveToken({
        token,
        connectionId: String(payload.grantId),
        scopes: String(payload.scope ?? '').split(' '),
        expiresAt: Number(payload.exp) * 1_000,
      })
      if (!saved) throw new errors.InvalidGrant('the connection does not exist')
    },
    async find(token) {
      const found = await store.findToken(token)
      if (found === undefined) return undefined
      return {
        kind: 'AccessToken',
        jti: token,
        iat: seconds(found.createdAt),
        exp: seconds(found.expiresAt),
        aud: router,
        accountId: found.account,
        clientId: found.appId,
        grantId: found.connectionId,
        scope: found.scopes.join(' '),
      }
    },
    async destroy(token) {
      await store.revokeToken(token)
    },
  }

  const clients: Partial<OidcAdapter> = {
    async find(id) {
      const app = mayBeAppId(id) ? await store.findApp(id) : undefined
      // A suspended app is still known. Its connections are not found, so a refresh fails with `invalid_grant`.
      if (app === undefined || app.redirectUris.length === 0) return undefined
      return {
        client_id: app.id,
        // Only native apps may have a loopback redirect with any port.
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: app.redirectUris.flatMap(spellings),
      }
    },
  }

  const byModel: Readonly<Record<string, Partial<OidcAdapter>>> = {
    Grant: grants,
    AccessToken: accessTokens,
    Client: clients,
    AuthorizationCode: rows('AuthorizationCode', 0, 'code'),
    RefreshToken: rows('RefreshToken', REUSE_MS, 'refresh-token'),
    Interaction: rows('Interaction', 0, 'code'),
    // The host identifies the user at each request, so the library's own session is never kept.
    Session: {},
  }

  function rows(model: OauthModel, reuseMs: number, token: 'code' | 'refresh-token'): Partial<OidcAdapter> {
    return {
      // Ids are stored only as digests, and `returnTo` contains the id of an open request.
      async upsert(id, { jti: _, consumed: __, returnTo: ___, ...payload }, expiresInSeconds) {
        const { grantId } = payload
        await store.putOauth({
          model,
          id,
          payload,
          ...(typeof grantId === 'string' && model !== 'Interaction' && { connectionId: grantId }),
          expiresAt: Date.now() + expiresInSeconds * 1_000,
        })
      },
      async find(id) {
        const row = await store.findOauth(model, id)
        if (row === undefined) return undefined
        const { consumedMsAgo } = row
        const isConsumed = consumedMsAgo !== undefined && consumedMsAgo >= reuseMs
        return {
          ...row.payload,
          jti: id,
          ...(isConsumed && { consumed: true }),
          ...(model === 'Interaction' && { returnTo: `${url}/authorize/${id}` }),
        }
      },
      async consume(id) {
        const consumption = await store.consumeOauth(model, id)
        if (consumption?.first === true) return
        const connectionId = (await store.findOauth(model, id))?.payload.grantId
        if (consumption !== undefined && consumption.msAgo < reuseMs) {
          emit({
            type: 'token-reused-in-grace',
            connectionId: String(connectionId),
            msAgo: consumption.msAgo,
          })
          return
        }
        if (typeof connectionId === 'string') await endConnection(connectionId, token)
        throw new errors.InvalidGrant('it was used by another request at the same time')
      },
      destroy: (id) => store.destroyOauth(model, id),
    }
  }

  return (model) => ({ ...NOTHING, ...byModel[model] })
}

/** Tokens and codes are not revoked individually: those of an ended connection are refused. */
const NOTHING: OidcAdapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
}

/** Whether an app may have this id. Ids that no database can store are not looked up. */
export function mayBeAppId(id: string): boolean {
  return id.length <= MAX_APP_ID_CHARS && !/\p{Cc}/u.test(id)
}

/** The library compares text, and an empty path may be written without its slash. */
function spellings(uri: string): readonly string[] {
  const { href, pathname, search } = new URL(uri)
  return pathname === '/' && search === '' ? [href, href.slice(0, -1)] : [uri]
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1_000)
}
