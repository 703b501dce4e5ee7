import { createCompatHandler } from '../../src/handler.js'
import { createCompatRouter, type RouterHandle, type RouterOptions } from '../../src/index.js'
import { type FetchHost, fetchHosts } from './fetch-hosts.js'
import { type Host, hosts, type MountedHost } from './hosts.js'

/** A host of either kind. */
export type AnyHost = Host | FetchHost

const via = process.env.MOUNT_VIA
const named: AnyHost | undefined = [...hosts, ...fetchHosts].find(({ name }) =>
  via === undefined ? name === 'bare http with a base path' : name === via,
)
if (named === undefined) throw new Error(`MOUNT_VIA names no host: ${via}`)

/** The host of tests that do not ask for a certain one: `MOUNT_VIA`, such as `fetch` or `hono`. Bare `http` by default. */
export const defaultHost: AnyHost = named

/** Creates a router of the kind that a host takes. */
export function createRouterFor(
  host: AnyHost,
  options: RouterOptions,
): { readonly router: RouterHandle; mount(): Promise<MountedHost> } {
  if (!('takes' in host)) {
    const router = createCompatRouter(options)
    return { router, mount: () => host.mount(router) }
  }
  const router = createCompatHandler(options)
  return { router, mount: () => host.mount(router) }
}
