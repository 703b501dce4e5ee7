import { isChargedOperation } from '../rules/free-operations.js'

/** The name of the instrumentation scope of all instruments and spans. */
export const SCOPE = 'compat-router'

/** Names of OpenTelemetry's conventions. Those for generative AI are still in development; these are of version 1.41.1. */
export const OPERATION_NAME = 'gen_ai.operation.name'
export const PROVIDER_NAME = 'gen_ai.provider.name'
export const REQUEST_MODEL = 'gen_ai.request.model'
export const TOKEN_TYPE = 'gen_ai.token.type'
export const ERROR_TYPE = 'error.type'

/** Whether an operation calls a model, and therefore has a span and the metrics of calls. */
export const callsModel = (operation: string): boolean => isChargedOperation(operation)
