export type { CalendarPeriod, Period, PeriodWindow } from './base/periods.js'
export type { CachedCatalogue, CachedCredentials, CacheOptions } from './cache/index.js'
export type * from './contracts/calls.js'
export type * from './contracts/catalogue.js'
export type * from './contracts/connect.js'
export type * from './contracts/context.js'
export type * from './contracts/credentials.js'
export type * from './contracts/envelope.js'
export type * from './contracts/idempotency.js'
export type * from './contracts/ledger.js'
export type * from './contracts/look-ups.js'
export type { ProviderRegistry, Route } from './contracts/providers.js'
export type { Limit, LimitOwner, LimitUnit } from './contracts/usage-limits.js'
export type {
  IntrospectionAuth,
  IntrospectionCredentials,
  IntrospectionCredentialsOptions,
  JwtClaims,
  JwtCredentialsOptions,
  PrincipalOf,
  ShapedCredentials,
  TokenClaims,
} from './identity/index.js'
export type {
  MemoryCallsOptions,
  MemoryCatalogue,
  MemoryCredential,
  MemoryCredentials,
  MemoryCredentialsOptions,
  MemoryIdempotencyOptions,
  MemoryLedger,
  MemoryLedgerOptions,
  MemoryModel,
  MemoryProvider,
} from './memory/index.js'
