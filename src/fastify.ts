import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import type { RouterOptions, StoredRouterOptions } from './options.js'
import { type CompatRouter, createCompatRouter } from './router.js'

/** The options of `createCompatRouter`, with the mount path as `prefix`. */
export type CompatPluginOptions = (
  | Omit<RouterOptions, 'basePath'>
  | Omit<StoredRouterOptions, 'basePath'>
) & {
  readonly prefix: string
  /** Called with the router when it has been made, for its `inFlight`, `openHolds`, `calls` and `routes`. */
  readonly onRouter?: (router: CompatRouter) => void
}

/**
 * A plugin of Fastify 5: `app.register(compatRouter, { prefix: '/compat/v1', ...options })`. Other routes keep their
 * parsers. `app.close()` closes the router first.
 */
export const compatRouter: FastifyPluginCallback<CompatPluginOptions> = (app, given, done) => {
  const { onRouter, prefix: _, ...options } = given
  // With the prefixes of the plugins around this one.
  const router = createCompatRouter({ ...options, basePath: app.prefix })
  onRouter?.(router)
  leaveBodies(app)
  app.all('/*', (request, reply) => {
    // Nobody else sends what hooks have set, such as the headers of `@fastify/cors`.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    reply.hijack()
    router(request.raw, reply.raw)
  })
  app.addHook('preClose', async () => {
    await router.close()
  })
  done()
}

/** The router reads bodies itself. Within the plugin, Fastify reads none. */
function leaveBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
}
