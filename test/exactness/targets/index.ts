import type { Target } from '../target.js'
import { llmObserverTarget } from './llm-observer.js'
import { llmopsTarget } from './llmops.js'
import { oursTarget } from './ours.js'
import { portkeyTarget } from './portkey.js'

/** The targets by name. A peer is installed when its function is called for the first time. */
export const TARGETS: Readonly<Record<string, () => Promise<Target>>> = {
  ours: () => oursTarget('memory'),
  'ours-sqlite': () => oursTarget('SQLite'),
  portkey: portkeyTarget,
  llmops: llmopsTarget,
  'llm-observer': llmObserverTarget,
}
