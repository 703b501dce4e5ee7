import { createServer } from 'node:http'
import fastify from 'fastify'
import { expect, it } from 'vitest'
import { compatRouter } from '../src/fastify.js'
import {
  type CompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
} from '../src/index.js'
import { listenHttp } from './helpers/listen-http.js'

const options = () => ({
  credentials: memoryCredentials({ 'sk-a': { kind: 'api-key' as const, account: 'alice' } }),
  catalogue: memoryCatalogue([]),
  ledger: memoryLedger({ alice: '1' }),
  providers: memoryProviders([]),
})
const headers = { authorization: 'Bearer sk-a' }

it('mounts under the prefixes of the plugins around it, and leaves the parsers of other routes alone', async () => {
  const app = fastify()
  app.post('/mine', async ({ body }) => ({ got: body }))
  app.register(
    async (inner) => {
      inner.register(compatRouter, { ...options(), prefix: '/v1' })
    },
    { prefix: '/compat' },
  )
  expect((await app.inject({ method: 'POST', url: '/mine', payload: { a: 1 } })).json()).toEqual({
    got: { a: 1 },
  })
  const models = await app.inject({ url: '/compat/v1/models', headers })
  expect([models.statusCode, models.json()]).toMatchObject([200, { object: 'list', data: [] }])
  const refused = await app.inject({
    method: 'POST',
    url: '/compat/v1/chat/completions',
    headers,
    payload: {},
  })
  expect([refused.statusCode, refused.json().error.param]).toEqual([400, 'model'])
  await app.close()
})

it('sends the headers that hooks have set', async () => {
  const app = fastify()
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('x-frame-options', 'DENY').header('access-control-allow-origin', 'https://app.example')
  })
  app.register(compatRouter, { ...options(), prefix: '/compat/v1' })
  const reply = await app.inject({
    url: '/compat/v1/models',
    headers: { ...headers, origin: 'https://b.example' },
  })
  expect(reply.headers).toMatchObject({
    'x-frame-options': 'DENY',
    'access-control-allow-origin': 'https://app.example',
  })
  await app.close()
})

it('closes the router with the app, so that its calls are refused', async () => {
  const app = fastify()
  let router: CompatRouter | undefined
  app.register(compatRouter, {
    ...options(),
    prefix: '/compat/v1',
    onRouter(made) {
      router = made
    },
  })
  await app.ready()
  await app.close()
  const bare = await listenHttp(createServer((req, res) => router!(req, res)))
  expect((await bare.request('/models', { headers })).status).toBe(503)
  await bare.close()
})
