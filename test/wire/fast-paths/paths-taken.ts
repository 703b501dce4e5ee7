import { Session } from 'node:inspector/promises'
import { Socket } from 'node:net'
import { Splicer } from '../../../src/operations/chat/reply/splice.js'
import { TurnGate } from '../../../src/turn-gate.js'

/** How often each fast path was taken. */
export interface PathsTaken {
  readonly gathered: number
  readonly spliced: number
  readonly chunks: number
  readonly lines: number
  readonly messages: number
}

const WHOLE_CHUNK = /^[1-9a-f][0-9a-f]*\r\n/
const COVERED: ReadonlyMap<string, 'lines' | 'messages'> = new Map([
  ['#readOneLineEvents', 'lines'],
  ['withMessages', 'messages'],
])

/** Counts in this process from now on. What is returned tells the counts so far. */
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
    // Node hands the length of a chunk to the socket alone.
    if (typeof values[0] === 'string' && WHOLE_CHUNK.test(values[0])) taken.chunks++
    return write.apply(this, values)
  }

  // Functions that are private to their class or file, and leave what looks the same from outside.
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
