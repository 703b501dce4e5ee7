import { answerCases } from './answer-cases.js'
import type { AdapterCase } from './bench.js'
import { failureCases } from './failure-cases.js'
import { historyCases } from './history-cases.js'
import { readingCases } from './reading-cases.js'
import { secrecyCases } from './secrecy-cases.js'

export type { AdapterCase } from './bench.js'
export {
  type EmbeddingsCase,
  type EmbeddingsHarness,
  type EmbeddingsScenario,
  type EmbeddingsUnderTest,
  embeddingsCases,
} from './embeddings-cases.js'
export {
  ADAPTER_HOST_CREDENTIAL,
  ADAPTER_HOST_KEY,
  type AdapterHarness,
  type AdapterScenario,
  type AdapterUnderTest,
  type ReceivedRequest,
  type ScriptedAnswer,
} from './scenario.js'

/** The requirements for every adapter, one per case. */
export const adapterCases: readonly AdapterCase[] = Object.freeze([
  ...answerCases,
  ...failureCases,
  ...historyCases,
  ...readingCases,
  ...secrecyCases,
])
