import type { EventError, RouterEvent } from '../../contracts/events.js'
import { eventError } from './event-error.js'
import { freezeEvent } from './freeze.js'

/** Ignores events: the host has no listener. */
export const ignoreEvents = (): void => {}

/** Makes an event sink that cannot disturb the engine: it freezes events and swallows the listener's errors. */
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
