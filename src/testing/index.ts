export type { CaseNeed, ConformanceCase, Opened } from './case.js'
export { type LedgerCase, type LedgerHarness, type LedgerUnderTest, ledgerCases } from './ledger/index.js'
