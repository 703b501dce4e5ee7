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
export { OptionsError, type OptionsErrorCode } from './base/options-error.js'
export type { Period, PeriodWindow } from './base/periods.js'
export { createSecret } from './base/secret.js'
export { version } from './base/version.js'
export {
  type CachedCatalogue,
  type CachedCredentials,
  type CacheOptions,
  cachedCatalogue,
  cachedCredentials,
} from './cache/index.js'
export type * from './contracts/index.js'
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
export type { ChatMessage, ChatRequest } from './protocol/chat-request.js'
export type { ChatChunk } from './protocol/chunk.js'
export type { ChatCompletion } from './protocol/completion.js'
export type { EmbeddingInput, EmbeddingList, EmbeddingRequest } from './protocol/embedding-request.js'
export type { MessagesRequest } from './protocol/messages-request.js'
export type { ReceivedBody, RequestBody, SentText } from './protocol/request-body.js'
export type { ResponsesRequest } from './protocol/responses-request.js'
export type { Usage, UsageReport } from './protocol/usage.js'
export { type AnthropicSettings, anthropic, type MessagesAdapter } from './providers/anthropic/index.js'
export type { HostDispatcher } from './providers/dispatcher.js'
export { type OpenAiCompatibleSettings, openaiCompatible } from './providers/openai-compatible/index.js'
export type { UpstreamSettings } from './providers/upstream.js'
export { type CompatRouter, createCompatRouter } from './router.js'
