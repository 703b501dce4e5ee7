/** A peer that is a package in a host of its own: set up as its README says, and no more. */
import { Agent } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PeerHostSetup } from '../lib/messages.js'
import { readSetup } from '../lib/serve.js'

const { directory, kind, upstreamPort } = readSetup<PeerHostSetup>()
const require = createRequire(join(directory, 'package.json'))
const load = (path: string) => import(pathToFileURL(path).href)
const loadPackage = (name: string) => load(require.resolve(name))
const upstream = `http://127.0.0.1:${upstreamPort}`
/** Another one takes its place: see `loopback.ts`. */
const ANY_PORT = 0

switch (kind) {
  case 'express-proxy': {
    const { default: express } = await loadPackage('express')
    const { createProxyMiddleware } = await loadPackage('http-proxy-middleware')
    // Without an agent, it opens a connection for each request.
    const agent = new Agent({ keepAlive: true })
    express()
      .use(createProxyMiddleware({ target: upstream, agent }))
      .listen(ANY_PORT)
    break
  }
  case 'fastify-proxy': {
    const { default: fastify } = await loadPackage('fastify')
    const { default: proxy } = await loadPackage('@fastify/http-proxy')
    const app = fastify()
    app.register(proxy, { upstream })
    await app.listen({ port: ANY_PORT })
    break
  }
  case 'llmkit': {
    // Its command starts this proxy around another command, and ends with that.
    const { startProxy } = await load(join(directory, 'node_modules/@f3d1/llmkit-cli/dist/proxy.js'))
    await startProxy({ port: ANY_PORT, verbose: false })
  }
}
