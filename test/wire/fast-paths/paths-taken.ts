import { Session } from 'node:inspector/promises'
import { Socket } from 'node:net'
import { TurnGate } from '../../../src/base/turn-gate.js'
import { Splicer } from '../../../src/replies/splice.js'

/** How often each fast path was used. */
export interface PathsTaken {
  readonly gathered: number
  readonly spliced: number
  readonly chunks: number
  readonly lines: number
  readonly messages: number
}

const WHOLE_CHUNK = /^[1-9a-f][0-9a-f]*\r\n/
const COVERED: ReadonlyMap<string, 'lines' | 'messages'> = new Map([
  ['readOneLineEvents', 'lines'],
  ['withMessages', 'messages'],
])

/** Starts to count in this process. The returned function gives the counts so far. */
export async function watchPaths(): Promise<() => Promise<PathsTaken>> {
  const taken = { gathered: 0, spliced: 0, chunks: 0, lines: 0, messages: 0 }

  const { wait } = TurnGate.prototype
  TurnGate.prototype.wait = function (this: TurnGate) {
    const turn = wait.call(this)
    if (turn !== undefined) taken.gathered++
    return turn
  }
  const { splice } = Splicer.prototype
  Splicer.prototype.splice = function (this: Splicer, event) {
    const spliced = splice.call(this, event)
    if (spliced !== undefined) taken.spliced++
    return spliced
  }
  const write = Socket.prototype.write as (...values: unknown[]) => boolean
  Socket.prototype.write = function (this: Socket, ...values: unknown[]) {
    // Only Node writes the length of a chunk to the socket.
    if (typeof values[0] === 'string' && WHOLE_CHUNK.test(values[0])) taken.chunks++
    return write.apply(this, values)
  }

  // Functions that are private to their class or file and have no visible effect outside it.
  const profiler = new Session()
  profiler.connect()
  await profiler.post('Profiler.enable')
  await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return async () => {
    const { result } = await profiler.post('Profiler.takePreciseCoverage')
    for (const { functionName, ranges } of result.flatMap(({ functions }) => functions)) {
      const path = COVERED.get(functionName)
      if (path !== undefined) taken[path] += ranges[0]!.count
    }
    return { ...taken }
  }
}
