export type { RouterHandle } from './assemble.js'
export {
  CompatError,
  type CompatErrorFields,
  type ErrorCode,
  type ErrorDetails,
  errorCodes,
  isCompatError,
  isProviderError,
  ProviderError,
  type ProviderErrorFields,
  type ProviderErrorReason,
} from './base/errors.js'
export { formatCredits, parseCredits } from './base/money.js'
export { OptionsError, type OptionsErrorCode, type OptionsErrorFields } from './base/options-error.js'
export type { MediaPrices, Price, Prices } from './base/prices.js'
export { createSecret } from './base/secret.js'
export { version } from './base/version.js'
export { cachedCatalogue, cachedCredentials } from './cache/index.js'
export type { Admit } from './contracts/admit.js'
export type { CallInFlight } from './contracts/call-in-flight.js'
export type { KeptCall } from './contracts/calls.js'
export type { MediaTokens, Model } from './contracts/catalogue.js'
export type {
  AccessToken,
  ApiKey,
  App,
  AppModels,
  Credential,
  Markup,
  Principal,
} from './contracts/credentials.js'
export type * from './contracts/events.js'
export type { FastPaths } from './contracts/fast-paths.js'
export type {
  ChargingSettings,
  Concurrency,
  RouterSettings,
  RoutingSettings,
  Sizes,
  Timeouts,
} from './contracts/limits.js'
export type { ReasoningName, ReasoningNaming, ReplyReader } from './contracts/reasoning-name.js'
export type { RouteError, RouteFlaw, RouteHealth } from './contracts/route-health.js'
export type { TokenCounter, TokenTally } from './contracts/token-counter.js'
export { generateEnvelopeKey, keyring } from './envelope/index.js'
export {
  firstCredentials,
  introspectionCredentials,
  jwtCredentials,
} from './identity/index.js'
export { type EventLogger, logEvents } from './log-events.js'
export {
  memoryCalls,
  memoryCatalogue,
  memoryCredentials,
  memoryIdempotency,
  memoryLedger,
  memoryProviders,
} from './memory/index.js'
export {
  type ByokFeeOptions,
  DEFAULTS,
  type IdempotencyOptions,
  type RecallOptions,
  type ResponsesOptions,
  type RouterOptions,
  type RouterStores,
  type StoredRouterOptions,
} from './options.js'
export { anthropic } from './providers/anthropic/index.js'
export { type MessageEvents, readMessageEvents } from './providers/anthropic/own-adapters.js'
export { openaiCompatible } from './providers/openai-compatible/index.js'
export { type CompatRouter, createCompatRouter } from './router.js'
