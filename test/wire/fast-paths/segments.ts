import type { Socket } from 'node:net'
import type { Random } from '../../simulation/random.js'

/** Lets the router's process run a turn of its event loop. */
export type TakeTurn = () => Promise<void>

/** The bytes of one write. */
export interface Segment {
  /** How many turns of the router to wait, so that this segment is not read together with the one before. */
  readonly turns: number
  readonly bytes: Buffer
}

/** The number of bytes that may be sent one by one. */
const SHORT_BYTES = 200
const MOST_CUTS = 40

/** Cuts bytes anywhere: inside characters, lines and lengths. */
export function cut(random: Random, bytes: Buffer): readonly Segment[] {
  const pace = random.pick([[0], [1], [0, 1], [0, 0, 0, 1, 2], [1, 3], [3]])
  return pieces(random, bytes).map((piece) => ({ turns: random.pick(pace), bytes: piece }))
}

export function pieces(random: Random, bytes: Buffer): readonly Buffer[] {
  const somewhere = (count: number): number[] =>
    Array.from({ length: count }, () => random.int(0, bytes.length)).sort((a, b) => a - b)
  return cutAt(
    bytes,
    random.weighted([
      [3, () => []],
      [3, () => somewhere(random.int(1, 3))],
      [3, () => somewhere(random.int(4, MOST_CUTS))],
      [3, () => eventEnds(bytes)],
      [1, () => [...bytes.subarray(0, SHORT_BYTES).keys()]],
    ])(),
  )
}

/** Like most providers: one event at a time. */
function eventEnds(bytes: Buffer): number[] {
  return [...bytes.toString('latin1').matchAll(/\n\n/g)].map(({ index }) => index + 2)
}

function cutAt(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  return [0, ...places]
    .map((from, index) => bytes.subarray(from, places[index] ?? bytes.length))
    .filter(({ length }) => length > 0)
}

export async function writeSegments(
  socket: Socket,
  segments: readonly Segment[],
  takeTurn: TakeTurn,
): Promise<void> {
  for (const { bytes, turns } of segments) {
    for (let waited = 0; waited < turns; waited++) await takeTurn()
    if (!socket.writable) return
    socket.write(bytes)
  }
}
