/** All addresses, derived only from the options, never from `Host` or `X-Forwarded-*`. */
export interface Addresses {
  readonly issuer: string
  readonly origin: string
  /** The path of the issuer, without a slash at its end. */
  readonly mount: string
  readonly authorize: string
  readonly token: string
  readonly revoke: string
  readonly introspect: string
  readonly router: string
  /** The address of the router's metadata according to RFC 9728. */
  readonly resourceMetadata: string
  /** The paths at which clients look for each document. */
  readonly serverMetadataPaths: readonly string[]
  readonly resourceMetadataPaths: readonly string[]
}

export function addressesOf(url: string, router: string): Addresses {
  const { origin, pathname: mount } = new URL(url)
  const resource = new URL(router)
  const routerPath = resource.pathname === '/' ? '' : resource.pathname
  const resourceMetadata = `/.well-known/oauth-protected-resource${routerPath}`
  return {
    issuer: url,
    origin,
    mount,
    authorize: `${url}/authorize`,
    token: `${url}/token`,
    revoke: `${url}/revoke`,
    introspect: `${url}/introspect`,
    router,
    resourceMetadata: `${resource.origin}${resourceMetadata}`,
    serverMetadataPaths: [
      `/.well-known/oauth-authorization-server${mount}`,
      `${mount}/.well-known/oauth-authorization-server`,
      `${mount}/.well-known/openid-configuration`,
    ],
    resourceMetadataPaths: [resourceMetadata, `${routerPath}/.well-known/oauth-protected-resource`],
  }
}
