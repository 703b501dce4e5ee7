import { auth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAST, type HostKind, openStage, type Stage, WEB_REDIRECT } from './stage.js'
import { call, connectApp, openPage, submit, UserAgent } from './user-agent.js'

describe.each<HostKind>(['Express', 'bare http'])('on %s, unmodified OAuth clients of Connect:', (host) => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage({ host })
  })
  afterAll(() => stage.close())

  it('openid-client discovers, gets a code, calls, refreshes, introspects and revokes', async () => {
    const configuration = await openid.discovery(new URL(stage.issuer), 'notes', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
      algorithm: 'oauth2',
    })
    expect(configuration.serverMetadata().issuer).toBe(stage.issuer)
    const verifier = openid.randomPKCECodeVerifier()
    const state = openid.randomState()
    const address = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: WEB_REDIRECT,
      scope: 'models.run credits.read',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
    })
    const agent = new UserAgent(stage.origin, 'alice')
    const answered = await submit(agent, stage, await openPage(agent, address.href))
    const callback = new URL(answered.headers.get('location')!)
    expect(callback.href.startsWith(`${WEB_REDIRECT}?`)).toBe(true)
    const tokens = await openid.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    })
    expect(tokens).toMatchObject({
      token_type: 'bearer',
      expires_in: 3_600,
      scope: 'models.run credits.read',
      access_token: expect.stringMatching(/^at-cr-[\w-]{49}$/),
      refresh_token: expect.stringMatching(/^rt-cr-[\w-]{49}$/),
    })
    expect(tokens).not.toHaveProperty('id_token')
    const reply = await call(stage, tokens.access_token)
    expect(reply.status).toBe(200)

    const refreshed = await openid.refreshTokenGrant(configuration, tokens.refresh_token!)
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
    expect((await call(stage, refreshed.access_token)).status).toBe(200)
    const introspected = await openid.tokenIntrospection(configuration, refreshed.access_token)
    expect(introspected).toMatchObject({
      active: true,
      client_id: 'notes',
      scope: 'models.run credits.read',
      iss: stage.issuer,
      aud: stage.routerUrl,
      sub: expect.any(String),
      exp: expect.any(Number),
      iat: expect.any(Number),
    })
    expect(introspected.sub).not.toContain('alice')

    await openid.tokenRevocation(configuration, refreshed.access_token)
    await expect.poll(async () => (await call(stage, refreshed.access_token)).status).toBe(401)
    const dead = await openid.tokenIntrospection(configuration, refreshed.access_token)
    expect(dead).toEqual({ active: false })
    await expect(openid.refreshTokenGrant(configuration, refreshed.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
  })

  it('openid-client also discovers at the OpenID Connect address', async () => {
    const configuration = await openid.discovery(new URL(stage.issuer), 'notes', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
    })
    expect(configuration.serverMetadata()).toMatchObject({
      token_endpoint: `${stage.issuer}/token`,
      code_challenge_methods_supported: ['S256'],
    })
  })

  it("the OAuth client of the MCP SDK finds everything from the router's address", async () => {
    const provider = new McpClient()
    expect(await auth(provider, { serverUrl: stage.routerUrl })).toBe('REDIRECT')
    const agent = new UserAgent(stage.origin, 'bob')
    const answered = await submit(agent, stage, await openPage(agent, provider.address!.href))
    const callback = new URL(answered.headers.get('location')!)
    const authorizationCode = callback.searchParams.get('code')!
    expect(await auth(provider, { serverUrl: stage.routerUrl, authorizationCode })).toBe('AUTHORIZED')
    const first = provider.saved!
    expect((await call(stage, first.access_token)).status).toBe(200)
    expect(await auth(provider, { serverUrl: stage.routerUrl })).toBe('AUTHORIZED')
    expect(provider.saved!.access_token).not.toBe(first.access_token)
    expect((await call(stage, provider.saved!.access_token)).status).toBe(200)
  })

  it('a client that follows the challenge of a 401 reaches the metadata', async () => {
    const refused = await call(stage, 'at-cr-wrong')
    expect(refused.status).toBe(401)
    const challenge = refused.headers.get('www-authenticate')!
    const address = /resource_metadata="([^"]+)"/.exec(challenge)![1]!
    expect(address).toBe(`${stage.origin}/.well-known/oauth-protected-resource/compat/v1`)
    const resource = (await (await fetch(address)).json()) as { authorization_servers: string[] }
    expect(resource).toMatchObject({ resource: stage.routerUrl, authorization_servers: [stage.issuer] })
    const [server = ''] = resource.authorization_servers
    const { origin, pathname } = new URL(server)
    const places = [
      `${origin}/.well-known/oauth-authorization-server${pathname}`,
      `${server}/.well-known/oauth-authorization-server`,
      `${server}/.well-known/openid-configuration`,
    ]
    for (const place of places) {
      const found = await fetch(place)
      expect(found.headers.get('access-control-allow-origin')).toBe('*')
      expect(await found.json()).toMatchObject({
        issuer: server,
        authorization_response_iss_parameter_supported: true,
      })
    }
  })

  it('other paths remain with the host and the router', async () => {
    expect((await fetch(`${stage.origin}/other`)).status).toBe(404)
    expect((await fetch(`${stage.origin}/connectivity`)).status).toBe(404)
    const models = await fetch(`${stage.routerUrl}/models`)
    expect(models.status).toBe(401)
    for (const path of ['jwks', 'me', 'reg', 'session/end', 'interaction/x', 'request', 'auth', 'token/x']) {
      const found = await fetch(`${stage.issuer}/${path}`)
      expect([path, found.status]).toEqual([path, 404])
      expect((await fetch(`${stage.issuer}/${path}`, { method: 'POST' })).status).toBe(404)
    }
  })
})

it('a host that can only mount under paths, behind a form parser, works with clients that know the issuer', async () => {
  const stage = await openStage({ host: 'Express, only under paths' })
  try {
    for (const agent of ['alice', 'bob'].map((user) => new UserAgent(stage.origin, user))) {
      const tokens = await connectApp(stage, agent)
      expect((await call(stage, tokens.access_token)).status).toBe(200)
    }
    const resource = await fetch(`${stage.routerUrl}/.well-known/oauth-protected-resource`)
    expect(await resource.json()).toMatchObject({ resource: stage.routerUrl })
    const server = await fetch(`${stage.issuer}/.well-known/oauth-authorization-server`)
    expect(await server.json()).toMatchObject({ issuer: stage.issuer })
  } finally {
    await stage.close()
  }
})

class McpClient implements OAuthClientProvider {
  address: URL | undefined
  saved: OAuthTokens | undefined
  #verifier = ''
  readonly redirectUrl = WEB_REDIRECT
  readonly clientMetadata = { redirect_uris: [WEB_REDIRECT], client_name: 'Notes' }

  clientInformation() {
    return { client_id: 'notes' }
  }
  tokens() {
    return this.saved
  }
  saveTokens(tokens: OAuthTokens): void {
    this.saved = tokens
  }
  redirectToAuthorization(address: URL): void {
    this.address = address
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }
  codeVerifier(): string {
    return this.#verifier
  }
}

it("the model of the example is on a connected app's list", async () => {
  const stage = await openStage()
  try {
    const agent = new UserAgent(stage.origin, 'alice')
    const tokens = await connectApp(stage, agent)
    const models = await fetch(`${stage.routerUrl}/models`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    const { data } = (await models.json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toContain(FAST)
  } finally {
    await stage.close()
  }
})
