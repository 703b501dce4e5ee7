export {
  CompatError,
  type CompatErrorFields,
  type ErrorCode,
  errorCodes,
  isCompatError,
  isProviderError,
  ProviderError,
  type ProviderErrorFields,
  type ProviderErrorReason,
} from './base/errors.js'
export { formatCredits, parseCredits } from './base/money.js'
export { OptionsError, type OptionsErrorCode, type OptionsErrorFields } from './base/options-error.js'
export type { Period, PeriodWindow } from './base/periods.js'
export type { MediaPrices, Price, Prices } from './base/prices.js'
export { createSecret } from './base/secret.js'
export type { MediaName, MediaUnit } from './base/units.js'
export { version } from './base/version.js'
export {
  type CachedCatalogue,
  type CachedCredentials,
  type CacheOptions,
  cachedCatalogue,
  cachedCredentials,
} from './cache/index.js'
export type { Admit } from './contracts/admit.js'
export type { CallInFlight } from './contracts/call-in-flight.js'
export type { CallStore, KeptCall } from './contracts/calls.js'
export type { CatalogueStore, MediaTokens, Model } from './contracts/catalogue.js'
export type { Awaitable, CallContext } from './contracts/context.js'
export type {
  AccessToken,
  ApiKey,
  App,
  Credential,
  CredentialOwner,
  CredentialStore,
  Markup,
  Principal,
} from './contracts/credentials.js'
export type { Envelopes } from './contracts/envelope.js'
export type * from './contracts/events.js'
export type { IdempotencyStore } from './contracts/idempotency.js'
export type { Balance, CallFacts, Charge, Entry, LedgerStore, Posting } from './contracts/ledger.js'
export type {
  ChargingSettings,
  Concurrency,
  RouterSettings,
  RoutingSettings,
  Sizes,
  Timeouts,
} from './contracts/limits.js'
export type { PromptEscapes, ProviderAdapter, ProviderRegistry, Route } from './contracts/providers.js'
export type { ReasoningName, ReasoningNaming, ReplyReader } from './contracts/reasoning-name.js'
export type { RouteError, RouteFlaw, RouteHealth } from './contracts/route-health.js'
export type { TokenCounter, TokenTally } from './contracts/token-counter.js'
export type { Limit, LimitOwner, LimitUnit } from './contracts/usage-limits.js'
export {
  type EnvelopeCurve,
  type EnvelopeKey,
  type EnvelopePublicKey,
  generateEnvelopeKey,
  type Keyring,
  type KeyringKey,
  keyring,
} from './envelope/index.js'
export * from './identity/index.js'
export { type EventLogger, logEvents } from './log-events.js'
export * from './memory/index.js'
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
export type { MediaCounts, Usage } from './protocol/usage.js'
export { type AnthropicSettings, anthropic } from './providers/anthropic/index.js'
export type { HostDispatcher } from './providers/dispatcher.js'
export { type OpenAiCompatibleSettings, openaiCompatible } from './providers/openai-compatible/index.js'
export type { UpstreamSettings } from './providers/upstream.js'
export { type CompatRouter, createCompatRouter } from './router.js'
