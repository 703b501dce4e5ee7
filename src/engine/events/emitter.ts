import type { EventError, RouterEvent } from '../../contracts/events.js'
import { eventError } from './event-error.js'

/** The listener of a host that has none. */
const ignoreEvents = (): void => {}

/** Creates an event sink that cannot disturb the engine. It freezes events and swallows the listener's errors. */
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

/** Freezes an event and everything in it. Events are plain data without cycles. */
function freezeEvent(event: RouterEvent): RouterEvent {
  switch (event.type) {
    // Every call emits these two. A generic deep freeze would take longer than all other work on them.
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
