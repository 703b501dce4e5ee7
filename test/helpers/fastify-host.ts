import fastify from 'fastify'
import { compatRouter } from '../../src/fastify.js'
import type { CompatRouter, RouterOptions } from '../../src/index.js'
import { listenHttp, MOUNT, type MountedHost } from './listen-http.js'

/** A host whose plugin takes the router's options. */
export interface PluginHost {
  readonly name: string
  readonly protocol: 'http1'
  readonly takes: 'options'
  readonly decodesPaths: true
  mount(options: RouterOptions): Promise<{ readonly router: CompatRouter; readonly host: MountedHost }>
}

export const fastifyHost: PluginHost = {
  name: 'fastify',
  protocol: 'http1',
  takes: 'options',
  decodesPaths: true,
  async mount(options) {
    const app = fastify()
    let router: CompatRouter | undefined
    app.register(compatRouter, {
      ...options,
      prefix: MOUNT,
      onRouter(made) {
        router = made
      },
    })
    await app.ready()
    return { router: router!, host: await listenHttp(app.server) }
  },
}
