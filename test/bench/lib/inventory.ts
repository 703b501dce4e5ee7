import { EventEmitter } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Inventory } from './messages.js'

/** Includes timers that do not keep the process alive, which `getActiveResourcesInfo` omits. */
const LIVE_OBJECTS = {
  timers: setTimeout(() => undefined, 0).constructor,
  signals: AbortSignal,
  sockets: Socket,
  requests: IncomingMessage,
  replies: ServerResponse,
  emitters: EventEmitter,
}

/** Counts live resources after a full collection. Takes a second on a large heap. */
export function takeInventory(
  emitters: Readonly<Record<string, EventEmitter>>,
  more: Readonly<Record<string, number>>,
  warnings: readonly string[],
): Inventory {
  collectGarbage()
  const counts: Record<string, number> = { ...more }
  for (const resource of process.getActiveResourcesInfo()) {
    counts[`resource ${resource}`] = (counts[`resource ${resource}`] ?? 0) + 1
  }
  for (const [name, emitter] of Object.entries(emitters)) {
    for (const event of emitter.eventNames()) {
      counts[`listeners of ${name} ${String(event)}`] = emitter.listenerCount(event)
    }
  }
  for (const [name, kind] of Object.entries(LIVE_OBJECTS)) counts[`live ${name}`] = Number(queryObjects(kind))
  return { counts, heapBytes: process.memoryUsage().heapUsed, warnings }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // Twice, since the first collection only finds objects that finalisers have yet to release.
  collect()
  collect()
}
