export { type AiSdkSettings, aiSdk } from './ai-sdk.js'
export type { ParameterTranslation, TranslatedRequest } from './call-options.js'
export type {
  AiSdkEmbeddingModel,
  AiSdkLanguageModel,
  ProviderOptions,
  ReadableStreamOf,
  SupportedUrls,
} from './specification.js'
