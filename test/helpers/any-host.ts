import { createCompatHandler } from '../../src/handler.js'
import { createCompatRouter, type RouterHandle, type RouterOptions } from '../../src/index.js'
import { fastifyHost, type PluginHost } from './fastify-host.js'
import { type FetchHost, fetchHosts } from './fetch-hosts.js'
import { type Host, hosts } from './hosts.js'
import type { MountedHost } from './listen-http.js'

/** A host of any kind. */
export type AnyHost = Host | FetchHost | PluginHost

export const allHosts: readonly AnyHost[] = [...hosts, ...fetchHosts, fastifyHost]

const { MOUNT_VIA = 'bare http with a base path' } = process.env
const named = allHosts.find(({ name }) => name === MOUNT_VIA)
if (named === undefined) throw new Error(`MOUNT_VIA names no host: ${MOUNT_VIA}`)

/** The host of tests that do not ask for a certain one: `MOUNT_VIA`, such as `fetch` or `hono`. Bare `http` by default. */
export const defaultHost: AnyHost = named

/** Starts a host of any kind with a router in it. */
export async function mountOn(
  host: AnyHost,
  options: RouterOptions,
): Promise<{ readonly router: RouterHandle; readonly host: MountedHost }> {
  if (!('takes' in host)) {
    const router = createCompatRouter(withBasePath(host, options))
    return { router, host: await host.mount(router) }
  }
  if (host.takes === 'options') return host.mount(options)
  const router = createCompatHandler(withBasePath(host, options))
  return { router, host: await host.mount(router) }
}

function withBasePath({ basePath }: Host | FetchHost, options: RouterOptions): RouterOptions {
  return { ...options, ...(basePath !== undefined && { basePath }) }
}
