/** Of instruments and spans. */
export const SCOPE = 'compat-router'

/** Names of OpenTelemetry's conventions. Those for generative AI are still in development: here as in version 1.41.1. */
export const OPERATION_NAME = 'gen_ai.operation.name'
export const PROVIDER_NAME = 'gen_ai.provider.name'
export const REQUEST_MODEL = 'gen_ai.request.model'
export const TOKEN_TYPE = 'gen_ai.token.type'
export const ERROR_TYPE = 'error.type'
export const CHAT = 'chat'

/** The upper bounds that the conventions ask for. */
export const DURATION_BUCKETS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
export const FIRST_TOKEN_BUCKETS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]
export const PER_TOKEN_BUCKETS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
export const TOKEN_BUCKETS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]
