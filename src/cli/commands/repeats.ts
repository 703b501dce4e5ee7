import type { Entry } from '../../contracts/index.js'
import type { CommandContext } from '../context/context.js'
import { formatTime } from '../context/output.js'

/** Says that a posting with this reference was made before, so that nothing was posted. */
export function sayRepeat(context: CommandContext, reference: string | undefined, { at }: Entry): void {
  context.say(`Nothing was posted: ${reference} was already posted at ${formatTime(at)}`)
}
