import type { Target } from '../target.js'
import { oursTarget } from './ours.js'

/** The targets by name. A peer is installed when its function is called for the first time. */
export const TARGETS: Readonly<Record<string, () => Promise<Target>>> = {
  ours: () => oursTarget('memory'),
  'ours-sqlite': () => oursTarget('SQLite'),
}
