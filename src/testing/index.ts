export {
  ADAPTER_HOST_CREDENTIAL,
  ADAPTER_HOST_KEY,
  type AdapterCase,
  type AdapterHarness,
  type AdapterScenario,
  type AdapterUnderTest,
  adapterCases,
  type EmbeddingsCase,
  type EmbeddingsHarness,
  type EmbeddingsScenario,
  type EmbeddingsUnderTest,
  embeddingsCases,
  type ReceivedRequest,
  type ScriptedAnswer,
} from './adapter/index.js'
export type { CaseNeed, ConformanceCase, Opened } from './base/case.js'
export { type CallCase, type CallHarness, callCases } from './call-cases.js'
export {
  type CatalogueCase,
  type CatalogueHarness,
  catalogueCases,
  type OpenedCatalogue,
} from './catalogue-cases.js'
export {
  type ConnectCase,
  type ConnectCaseApp,
  type ConnectHarness,
  connectCases,
  type OpenedConnect,
} from './connect-cases.js'
export {
  type CredentialCase,
  type CredentialHarness,
  credentialCases,
  type OpenedCredentials,
} from './credential-cases.js'
export { type IdempotencyCase, type IdempotencyHarness, idempotencyCases } from './idempotency-cases.js'
export { type LedgerCase, type LedgerHarness, type LedgerUnderTest, ledgerCases } from './ledger/index.js'
export {
  type RegistryCase,
  type RegistryHarness,
  type RegistryProvider,
  registryCases,
} from './registry-cases.js'
export {
  type StandIn,
  type StandInFailure,
  type StandInOptions,
  standInModels,
  startStandIn,
} from './stand-in/stand-in.js'
