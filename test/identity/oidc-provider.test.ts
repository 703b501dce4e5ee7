import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { introspectionCredentials, jwtCredentials, type Principal } from '../../src/index.js'
import type { TokenClaims } from '../../src/stores.js'

const CONTEXT = { requestId: 'one', signal: new AbortController().signal }
const JWT_AUDIENCE = 'https://jwt.example/compat/v1'
const OPAQUE_AUDIENCE = 'https://opaque.example/compat/v1'
const SECRET = 'a secret: with % & + = ~ /'

/** The package has no types. */
type Library = { default: new (issuer: string, options: object) => { callback(): RequestListener } }

let issuer: string
let privateKey: Record<string, unknown>
let close: () => Promise<void>

const principal = ({ client_id, sub }: TokenClaims): Principal => ({
  kind: 'api-key',
  account: String(sub),
  credentialId: `${sub} ${client_id}`,
})

async function newJwk(kid: string) {
  const pair = await generateKeyPair('ES256', { extractable: true })
  const of = async (key: CryptoKey) => ({ ...(await exportJWK(key)), kid, alg: 'ES256', use: 'sig' })
  return { private: await of(pair.privateKey), public: await of(pair.publicKey) }
}

beforeAll(async () => {
  const server = createServer((req, res) => handle(req, res)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const routerKey = await newJwk('router')
  privateKey = routerKey.private
  const machine = { redirect_uris: [], response_types: [], grant_types: [] as string[] }
  const { default: Provider } = (await import('oidc-provider' as string)) as Library
  const provider = new Provider(issuer, {
    jwks: { keys: [(await newJwk('issuer')).private] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clientAuthMethods: ['client_secret_basic', 'private_key_jwt'],
    clients: [
      { ...machine, client_id: 'notes', client_secret: 'notes', grant_types: ['client_credentials'] },
      { ...machine, client_id: 'router-secret', client_secret: SECRET },
      {
        ...machine,
        client_id: 'router-key',
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [routerKey.public] },
      },
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: 'models.run',
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: resource === JWT_AUDIENCE ? 'jwt' : 'opaque',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  })
  const handle = provider.callback()
  close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})
afterAll(() => close())

async function post(path: string, body: Record<string, string>): Promise<Response> {
  return fetch(issuer + path, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('notes:notes')}` },
    body: new URLSearchParams(body),
  })
}

async function tokenFor(resource: string): Promise<string> {
  const response = await post('/token', { grant_type: 'client_credentials', scope: 'models.run', resource })
  const { access_token } = (await response.json()) as { access_token: string }
  return access_token
}

describe('tokens issued by oidc-provider', () => {
  test('are accepted as JWTs', async () => {
    const store = jwtCredentials({ issuer, audience: JWT_AUDIENCE, jwks: `${issuer}/jwks`, principal })
    const token = await tokenFor(JWT_AUDIENCE)
    expect(await store.resolve(token, CONTEXT)).toMatchObject({
      ok: true,
      principal: { credentialId: 'notes notes' },
    })
    const other = jwtCredentials({ issuer, audience: OPAQUE_AUDIENCE, jwks: `${issuer}/jwks`, principal })
    expect(await other.resolve(token, CONTEXT)).toEqual({ ok: false, reason: 'unknown' })
  })

  test.each([
    ['HTTP Basic', () => ({ clientId: 'router-secret', clientSecret: SECRET })],
    ['a signed assertion', () => ({ clientId: 'router-key', privateKey })],
  ])('are introspected with %s, and refused once they are revoked', async (_, auth) => {
    const store = introspectionCredentials({
      endpoint: `${issuer}/token/introspection`,
      auth: auth(),
      accept: ({ client_id }) => client_id === 'notes',
      principal: ({ client_id }) => principal({ exp: 0, client_id: client_id!, sub: 'notes' }),
      ttlMs: 1,
    })
    const token = await tokenFor(OPAQUE_AUDIENCE)
    expect(await store.resolve(token, CONTEXT)).toMatchObject({ ok: true })
    await post('/token/revocation', { token })
    await expect.poll(async () => store.resolve(token, CONTEXT)).toEqual({ ok: false, reason: 'unknown' })
    expect(await store.resolve('invented', CONTEXT)).toEqual({ ok: false, reason: 'unknown' })
    store.close()
  })
})
