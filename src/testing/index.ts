export {
  type AdapterCase,
  type AdapterHarness,
  type AdapterScenario,
  type AdapterUnderTest,
  adapterCases,
  HOST_KEY as ADAPTER_HOST_KEY,
  type ReceivedRequest,
  type ScriptedAnswer,
} from './adapter/index.js'
export type { CaseNeed, ConformanceCase, Opened } from './case.js'
export { type LedgerCase, type LedgerHarness, type LedgerUnderTest, ledgerCases } from './ledger/index.js'
