import type { Addresses } from './model/addresses.js'
import { SCOPES } from './model/scopes.js'

/** The metadata of the authorization server (RFC 8414). The library's own would list algorithms of id tokens. */
export function serverMetadata(addresses: Addresses, hasResourceServers: boolean): object {
  const { authorize, introspect, issuer, revoke, token } = addresses
  return {
    issuer,
    authorization_endpoint: authorize,
    token_endpoint: token,
    revocation_endpoint: revoke,
    introspection_endpoint: introspect,
    scopes_supported: [...SCOPES.keys()],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    prompt_values_supported: ['none', 'consent'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    introspection_endpoint_auth_methods_supported: hasResourceServers
      ? ['none', 'client_secret_basic']
      : ['none'],
    authorization_response_iss_parameter_supported: true,
  }
}

/** The metadata of the router as a protected resource (RFC 9728). */
export function resourceMetadata({ issuer, router }: Addresses, hostName: string): object {
  return {
    resource: router,
    resource_name: hostName,
    authorization_servers: [issuer],
    scopes_supported: [...SCOPES.keys()],
    bearer_methods_supported: ['header'],
  }
}
