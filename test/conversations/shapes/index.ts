import type { Shape } from '../shape.js'
import { NAMES } from './names.js'
import { ORDER } from './order.js'
import { PARTS } from './parts.js'
import { REPLIES } from './replies.js'
import { SETTINGS } from './settings.js'
import { TEXTS } from './texts.js'
import { THOUGHTS } from './thoughts.js'
import { TOOLS } from './tools.js'

/** All conversations. A new one is one row of these lists. */
export const SHAPES: readonly Shape[] = [
  ...ORDER,
  ...PARTS,
  ...NAMES,
  ...TEXTS,
  ...THOUGHTS,
  ...TOOLS,
  ...SETTINGS,
  ...REPLIES,
]
