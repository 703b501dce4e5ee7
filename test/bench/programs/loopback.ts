/**
 * Preloaded before a third-party program: its server listens on a free port of 127.0.0.1 whatever it
 * requests, and the program ends with the bench.
 */
import { type AddressInfo, type ListenOptions, Server } from 'node:net'
import { serve } from '../lib/serve.js'

const listen = Server.prototype.listen as (this: Server, options: ListenOptions, done?: () => void) => Server

Server.prototype.listen = function listenOnLoopback(this: Server, ...given: unknown[]): Server {
  const done = given.findLast((value) => typeof value === 'function') as (() => void) | undefined
  this.once('listening', () => {
    serve({ port: (this.address() as AddressInfo).port }, () => undefined)
  })
  return listen.call(this, { port: 0, host: '127.0.0.1', backlog: 4_096 }, done)
}
