export type { PrincipalOf, TokenClaims } from './claims.js'
export { firstCredentials } from './first.js'
export {
  type IntrospectionAuth,
  type IntrospectionCredentials,
  type IntrospectionCredentialsOptions,
  introspectionCredentials,
} from './introspection.js'
export {
  type JwtClaims,
  type JwtCredentialsOptions,
  jwtCredentials,
  type ShapedCredentials,
} from './jwt.js'
