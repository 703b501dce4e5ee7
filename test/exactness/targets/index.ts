import type { Target } from '../target.js'
import { bifrostTarget } from './containers/bifrost.js'
import { litellmTarget } from './containers/litellm.js'
import { llmgatewayTarget } from './containers/llmgateway.js'
import { newApiTarget } from './containers/new-api.js'
import { otariTarget } from './containers/otari.js'
import { llmObserverTarget } from './llm-observer.js'
import { llmkitTarget } from './llmkit.js'
import { llmopsTarget } from './llmops.js'
import { oursTarget } from './ours.js'
import { portkeyTarget } from './portkey.js'

/**
 * The targets by name. A peer is installed when its function is called for the first time. Those in containers are for
 * people who have started one: they are not run here.
 */
export const TARGETS: Readonly<Record<string, () => Promise<Target> | Target>> = {
  ours: () => oursTarget('memory'),
  'ours-sqlite': () => oursTarget('SQLite'),
  portkey: portkeyTarget,
  llmops: llmopsTarget,
  'llm-observer': llmObserverTarget,
  llmkit: llmkitTarget,
  litellm: litellmTarget,
  otari: otariTarget,
  'new-api': newApiTarget,
  bifrost: bifrostTarget,
  llmgateway: llmgatewayTarget,
}
