import type { EventError, RouterEvent } from '../../contracts/events.js'
import { eventError } from './event-error.js'
import { freezeEvent } from './freeze.js'

/** Takes events where nobody asked for them. */
export const ignoreEvents = (): void => {}

/** Makes an event sink that cannot disturb the engine: it freezes what it is given and swallows what it throws. */
export function createEmitter(
  onEvent: ((event: RouterEvent) => unknown) | undefined,
  onFirstFailure: (error: EventError) => void,
): (event: RouterEvent) => void {
  if (onEvent === undefined) return ignoreEvents
  let failed = false
  const fail = (error: unknown): void => {
    if (!failed) onFirstFailure(eventError(error))
    failed = true
  }
  return (event) => {
    try {
      const result = onEvent(freezeEvent(event))
      if (result instanceof Promise) result.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
}
