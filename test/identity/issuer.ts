import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

export const ISSUER = 'https://id.example'
export const AUDIENCE = 'https://api.example/compat/v1'
/** 2026-03-31, on a whole second. */
export const NOW = Date.UTC(2026, 2, 31)
export const NOW_SECONDS = NOW / 1_000

export interface IssuerKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

export type Answer = (req: IncomingMessage, res: ServerResponse, body: string) => unknown

/** A server on loopback that answers as the test sets it. */
export async function startServer(answer: Answer) {
  const requests: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = []
  const state = { answer }
  const server = createServer(async (req, res) => {
    let body = ''
    for await (const part of req.setEncoding('utf8')) body += part
    requests.push({ headers: req.headers, body })
    await state.answer(req, res, body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    set answer(answer: Answer) {
      state.answer = answer
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function json(res: ServerResponse, body: unknown, status = 200): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export async function newKey(kid: string, alg = 'ES256'): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** A key set on loopback. */
export async function startKeySet(...keys: IssuerKey[]) {
  const published = [...keys]
  const server = await startServer((_, res) => json(res, { keys: published.map(({ jwk }) => jwk) }))
  return { server, published, url: `${server.url}keys` }
}

/** The claims of a good token. */
export function claims(more: JWTPayload = {}): JWTPayload {
  return {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: 'user-1',
    client_id: 'notes',
    iat: NOW_SECONDS,
    exp: NOW_SECONDS + 600,
    ...more,
  }
}

/** Signs claims. A header or a claim that is undefined is left out. */
export function sign(
  key: IssuerKey,
  payload = claims(),
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(payload)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
    .sign(key.privateKey, { crit: { 'urn:example:rule': true } })
}
