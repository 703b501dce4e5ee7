import type { LedgerCase } from './bench.js'
import { claimCases } from './claim-cases.js'
import { concurrencyCases } from './concurrency-cases.js'
import { copyCases } from './copy-cases.js'
import { creditCases } from './credit-cases.js'
import { entryCases } from './entry-cases.js'
import { expiryCases } from './expiry-cases.js'
import { limitCases } from './limit-cases.js'
import { lookUpCases } from './look-up-cases.js'
import { postingCases } from './posting-cases.js'
import { replaceCases } from './replace-cases.js'
import { stepCases } from './step-cases.js'
import { tableCases } from './table-cases.js'

export type { LedgerUnderTest } from './answers.js'
export type { LedgerCase, LedgerHarness } from './bench.js'

/** The requirements for every ledger, one per case. */
export const ledgerCases: readonly LedgerCase[] = Object.freeze([
  ...tableCases,
  ...copyCases,
  ...creditCases,
  ...postingCases,
  ...claimCases,
  ...replaceCases,
  ...expiryCases,
  ...limitCases,
  ...stepCases,
  ...concurrencyCases,
  ...entryCases,
  ...lookUpCases,
])
