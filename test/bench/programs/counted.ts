/**
 * A router on a bare `http` server that counts what its calls cost: bytes allocated, timers, promises, listeners. Start it
 * with a young generation so large that nothing is collected while it counts.
 */
import { createHook } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createBaselineRouter } from '../lib/baseline-router.js'
import { routerMaker } from '../lib/build.js'
import type { CallCounts, SystemSetup } from '../lib/messages.js'
import { MOUNT } from '../lib/names.js'
import { readSetup, serve } from '../lib/serve.js'

const setup = readSetup<SystemSetup>()
const createRouter = setup.isBaseline === true ? createBaselineRouter : await routerMaker(setup.dist)
const { router } = await createRouter(setup, { basePath: MOUNT })

let calls = 0
let listeners = 0
let timers = 0
let promises = 0
let heapBytes = 0

const hook = createHook({
  init(_id, type) {
    if (type === 'PROMISE') promises++
    else if (type === 'Timeout') timers++
  },
})

/** `once` and the others call one of these. */
for (const name of ['on', 'addListener', 'prependListener'] as const) {
  const add = EventEmitter.prototype[name]
  EventEmitter.prototype[name] = function (this: EventEmitter, ...what) {
    listeners++
    return add.apply(this, what)
  }
}
const { addEventListener } = EventTarget.prototype
EventTarget.prototype.addEventListener = function (
  this: EventTarget,
  ...what: Parameters<typeof addEventListener>
) {
  listeners++
  addEventListener.apply(this, what)
}

function start(kind: 'bytes' | 'objects'): void {
  // Hooks allocate, so bytes are counted without them.
  if (kind === 'objects') hook.enable()
  calls = 0
  listeners = 0
  timers = 0
  promises = 0
  globalThis.gc!()
  heapBytes = process.memoryUsage().heapUsed
}

function counts(): CallCounts {
  const allocated = process.memoryUsage().heapUsed - heapBytes
  hook.disable()
  return {
    calls,
    bytes: allocated / calls,
    timers: timers / calls,
    promises: promises / calls,
    listeners: listeners / calls,
  }
}

const server = createServer((req, res) => {
  calls++
  router(req, res)
})
server.keepAliveTimeout = 0
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const { port } = server.address() as AddressInfo
  serve<{ kind: 'bytes' | 'objects' | 'counts' }>({ port }, ({ kind }) =>
    kind === 'counts' ? counts() : start(kind),
  )
})
