export { type MemoryCallsOptions, memoryCalls } from './calls.js'
export { type MemoryCatalogue, type MemoryModel, memoryCatalogue } from './catalogue.js'
export {
  type MemoryCredential,
  type MemoryCredentials,
  type MemoryCredentialsOptions,
  memoryCredentials,
} from './credentials.js'
export { type MemoryIdempotencyOptions, memoryIdempotency } from './idempotency.js'
export { type MemoryLedger, type MemoryLedgerOptions, memoryLedger } from './ledger.js'
export { type MemoryProvider, memoryProviders } from './providers.js'
