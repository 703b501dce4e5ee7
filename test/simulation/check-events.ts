import type { RequestEnd } from '../../src/contracts/events.js'
import type { ReadReply } from './reply.js'
import type { SimCall } from './world.js'

/**
 * One start and one end, and the end agrees with the client's reply.
 *
 * @param threw whether an adapter failed in a forbidden way
 */
export function checkEvents(
  call: SimCall,
  reply: ReadReply,
  threw: boolean,
  violate: (what: string) => void,
): void {
  const { events, alive } = call.process
  const mine = events.filter((event) => 'requestId' in event && event.requestId === call.plan.id)
  for (const event of mine) {
    if (event.type !== 'fault') continue
    const isTheWorlds = event.where === 'admit' || (event.where === 'adapter' && threw)
    if (!isTheWorlds) violate(`a fault: ${event.error.message}`)
  }
  const starts = mine.filter(({ type }) => type === 'request-start').length
  const ends = mine.filter((event): event is RequestEnd => event.type === 'request-end')
  if (!alive) {
    if (ends.length > 1) violate(`${ends.length} ends`)
    return
  }
  const [end] = ends
  if (starts !== 1 || ends.length !== 1 || end === undefined) {
    violate(`${starts} starts and ${ends.length} ends`)
    return
  }
  if (!call.client.over && !call.client.left) violate('its client was left without an end')
  if (reply.code === 'internal_error') violate('it was told internal_error')
  if (call.client.left) return
  if (end.status !== reply.status)
    violate(`the event says ${end.status}, the client was sent ${reply.status}`)
  const said = reply.kind === 'complete' ? 'completed' : reply.code
  // The event of the first reader agrees with the stored reply.
  if (end.replayed === true && reply.kind === 'failed') return
  if (end.outcome !== said) violate(`the event says ${end.outcome}, the client was told ${said}`)
}
