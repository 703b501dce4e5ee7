import { checkRun } from './check-run.js'
import type { Plant } from './plants.js'
import { World } from './world.js'

export interface RunResult {
  readonly seed: string
  readonly calls: number
  readonly charged: number
  readonly violations: readonly string[]
  /** The events in order, empty unless requested. */
  readonly notes: readonly string[]
}

/** Plays one seed. The same seed plays the same run, note by note. */
export async function run(seed: string, plant?: Plant, keepsNotes = false): Promise<RunResult> {
  const undo = plant?.patch?.()
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', onUnhandled)
  try {
    const world = new World(seed, plant, keepsNotes)
    await world.play()
    checkRun(world)
    for (const error of unhandled) world.violate(`an unhandled rejection: ${String(error)}`)
    return {
      seed,
      calls: world.calls.length,
      charged: world.ledger.posted.size,
      violations: world.violations,
      notes: world.notes,
    }
  } finally {
    process.off('unhandledRejection', onUnhandled)
    undo?.()
  }
}
