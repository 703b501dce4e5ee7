import type { EventError, RouterEvent } from '../../contracts/events.js'
import { eventError } from './event-error.js'

/** Ignores events: the host has no listener. */
const ignoreEvents = (): void => {}

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

/** Freezes an event and all that it holds. Events are plain data without cycles. */
function freezeEvent(event: RouterEvent): RouterEvent {
  switch (event.type) {
    // Every call has these two. To search them would take longer than everything else that is done with them.
    case 'request-start':
      if (event.trace !== undefined) Object.freeze(event.trace)
      return Object.freeze(event)
    case 'request-end': {
      // `routing` is already frozen.
      const { action, caller, charge, connected, facts } = event
      if (facts !== undefined) Object.freeze(facts)
      if (caller !== undefined) Object.freeze(caller)
      if (charge !== undefined) Object.freeze(Object.freeze(charge).usage)
      if (action !== undefined) freezeDeep(action)
      if (connected !== undefined) freezeDeep(connected)
      return Object.freeze(event)
    }
    default:
      return freezeDeep(event)
  }
}

function freezeDeep<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const name in value) freezeDeep(value[name])
  }
  return value
}
