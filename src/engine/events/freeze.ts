import type { RequestEnd, RouterEvent } from '../../contracts/events.js'

/** Freezes an event and all that it holds. Events are plain data without cycles. */
export function freezeEvent(event: RouterEvent): RouterEvent {
  switch (event.type) {
    // Every call has these two. To search them would take longer than everything else that is done with them.
    case 'request-start':
      if (event.trace !== undefined) Object.freeze(event.trace)
      return Object.freeze(event)
    case 'request-end':
      return freezeEnd(event)
    default:
      return freezeDeep(event)
  }
}

function freezeEnd(event: RequestEnd): RequestEnd {
  // `routing` is already frozen.
  const { action, caller, charge, connected, facts } = event
  if (facts !== undefined) Object.freeze(facts)
  if (caller !== undefined) Object.freeze(caller)
  if (charge !== undefined) Object.freeze(Object.freeze(charge).usage)
  if (action !== undefined) freezeDeep(action)
  if (connected !== undefined) freezeDeep(connected)
  return Object.freeze(event)
}

function freezeDeep<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const name in value) freezeDeep(value[name])
  }
  return value
}
