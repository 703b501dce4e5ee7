/** A system under test: the bare pipe, or the router in one kind of host. One process, one server. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CompatRouter } from 'compat-router'
import connect from 'connect'
import express from 'express'
import { createBaselineRouter } from '../lib/baseline-router.js'
import { routerMaker } from '../lib/build.js'
import { takeInventory } from '../lib/inventory.js'
import type { SystemSetup } from '../lib/messages.js'
import { MOUNT } from '../lib/names.js'
import { createPipe } from '../lib/pipe.js'
import type { RotatingLedger } from '../lib/rotating-ledger.js'
import type { RouterUnderTest } from '../lib/router-under-test.js'
import { ownCpuUsage, readSetup, serve } from '../lib/serve.js'

const setup = readSetup<SystemSetup>()
const warnings: string[] = []
process.on('warning', (warning) => {
  // Counting live objects is the experimental part.
  if (warning.name !== 'ExperimentalWarning') warnings.push(String(warning))
})

let router: CompatRouter | undefined
let rotating: RotatingLedger | undefined

async function createListener(): Promise<RequestListener> {
  if (setup.kind === 'pipe') return createPipe(`http://127.0.0.1:${setup.upstreamPort}/v1/chat/completions`)
  const hasBasePath = setup.kind === 'http' || setup.kind === 'front'
  const createRouter = setup.isBaseline === true ? createBaselineRouter : await routerMaker(setup.dist)
  const made: RouterUnderTest = await createRouter(setup, hasBasePath ? { basePath: MOUNT } : {})
  const mounted = made.router
  router = mounted
  rotating = made.rotating
  switch (setup.kind) {
    case 'http':
      return (req, res) => mounted(req, res)
    case 'connect':
      return connect().use(MOUNT, mounted)
    case 'express':
      return express().use(MOUNT, mounted)
    case 'front': {
      const app = express()
      app.use((_req, res) => {
        res.status(418).send('the host itself')
      })
      return (req, res) => mounted(req, res, () => app(req, res))
    }
  }
}

const listener = await createListener()
const server = createServer(listener)
// Otherwise a connection that has had nothing to do for a while may be closed just when it gets a request.
server.keepAliveTimeout = 0
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const { port } = server.address() as AddressInfo
  serve<{ kind: 'usage' | 'inventory' | 'close' }>({ port }, async ({ kind }) => {
    if (kind === 'usage') return ownCpuUsage()
    if (kind === 'inventory') {
      rotating?.forget()
      return takeInventory({ process, server }, { inFlight: router?.inFlight ?? 0 }, warnings)
    }
    process.removeAllListeners('disconnect')
    server.close()
    server.closeIdleConnections()
    return router?.close()
  })
})
