import { createDeferred } from '../../helpers/deferred.js'
import type { Step } from '../../helpers/scripted-upstream.js'
import type { Bench, BenchCall, BenchOptions } from '../bench.js'
import { ESTIMATED, type Fault, inBothModes, NOTHING, REPORTED, send, takeOverCall } from '../fault.js'
import { DONE, FINISH, HEAD, ROLE, TOKENS, USAGE, usage } from '../upstream-scripts.js'

const ABORT: BenchOptions = { routes: [{ onDisconnect: 'abort' }] }
const DRAIN: BenchOptions = { routes: [{ onDisconnect: 'drain' }] }
const KEYED = { 'idempotency-key': 'key-1' }

interface Leaving {
  /** The steps before the client leaves. */
  readonly before: readonly Step[]
  /** The number of events in them. */
  readonly events: number
  /** The steps afterwards. If absent, the provider waits and is aborted. */
  readonly after?: readonly Step[]
  readonly headers?: Readonly<Record<string, string>>
}

/** A client that leaves at one moment of a reply, and a provider that could continue. */
async function leaves(
  bench: Bench,
  stream: boolean,
  { before, events, after, headers }: Leaving,
): Promise<BenchCall> {
  const { call, reply } = await takeOverCall(bench, stream, {}, headers)
  await send(reply, ...before)
  await bench.takes(events)
  await bench.leave(call)
  if (after === undefined) await reply.closed
  else await send(reply, ...after)
  await bench.event('request-end', call)
  return call
}

function left(
  row: Fault['row'],
  name: string,
  options: BenchOptions,
  due: string,
  leaving: Leaving,
): Fault[] {
  return inBothModes((stream) => ({
    row,
    name,
    options,
    play: (bench) => leaves(bench, stream, leaving),
    due,
    answer: 'left',
    also: (bench) => abandonedOnlyWhereFree(bench, row),
  }))
}

function abandonedOnlyWhereFree(bench: Bench, row: Fault['row']): void {
  const expected = row === 'left-abort-before'
  if (bench.has('call-abandoned') !== expected) throw new Error(`call-abandoned: ${!expected}`)
}

/** The client leaves while its charge is being posted. */
function duringSettlement(options: BenchOptions): Fault[] {
  return inBothModes((stream) => ({
    row: 'left-finished',
    name: `the client leaves during the settlement, on a route with onDisconnect: ${options.routes![0]!.onDisconnect}`,
    options,
    async play(bench) {
      const gate = createDeferred()
      bench.plan.next('settle', { when: gate.promise })
      bench.upstream.script([HEAD, TOKENS, FINISH, USAGE, DONE, 'end'])
      const call = bench.call(stream)
      await bench.plan.asked('settle')
      await bench.leave(call)
      gate.resolve()
      await bench.event('request-end', call)
      return call
    },
    due: REPORTED,
    answer: 'left',
  }))
}

export const clientLeft: readonly Fault[] = [
  ...left('left-finished', 'the client leaves after the finish and before the usage', ABORT, REPORTED, {
    before: [HEAD, TOKENS, FINISH],
    events: 2,
    after: [USAGE, DONE, 'end'],
  }),
  ...left('left-finished', 'the client leaves after the finish, and no usage arrives', ABORT, ESTIMATED, {
    before: [HEAD, TOKENS, FINISH],
    events: 2,
    after: [DONE, 'end'],
  }),
  ...duringSettlement(ABORT),
  ...duringSettlement(DRAIN),

  ...left('left-keyed', 'the client leaves before the first token', ABORT, REPORTED, {
    headers: KEYED,
    before: [HEAD, ROLE],
    events: 1,
    after: [TOKENS, FINISH, USAGE, DONE, 'end'],
  }),
  ...left('left-keyed', 'the client leaves in the middle', ABORT, REPORTED, {
    headers: KEYED,
    before: [HEAD, TOKENS],
    events: 1,
    after: [TOKENS, FINISH, USAGE, DONE, 'end'],
  }),

  ...left('left-abort-before', 'the client leaves before the headers', ABORT, NOTHING, {
    before: [],
    events: 0,
  }),
  ...left('left-abort-before', 'the client leaves before the first token', ABORT, NOTHING, {
    before: [HEAD, ROLE],
    events: 1,
  }),
  ...left('left-abort-before', 'the client leaves before the first token, after a usage', ABORT, NOTHING, {
    before: [HEAD, ROLE, USAGE],
    events: 2,
  }),

  ...left('left-abort-after', 'the client leaves in the middle', ABORT, ESTIMATED, {
    before: [HEAD, ROLE, TOKENS],
    events: 2,
  }),
  // (0.001 + 11 x 0.00001 + 10 x 0.00002) x 1.2 + 0.0005: prompt as reported, two texts as estimated.
  ...left('left-abort-after', 'the client leaves in the middle, after an interim usage', ABORT, '0.002072', {
    before: [HEAD, usage({ prompt_tokens: 11, completion_tokens: 1 }), TOKENS, TOKENS],
    events: 4,
  }),
  // (0.001 + 11 x 0.00001 + 90 x 0.00002) x 1.2 + 0.0005: the report is larger than the text.
  ...left(
    'left-abort-after',
    'the client leaves in the middle, after a larger interim usage',
    ABORT,
    '0.003992',
    {
      before: [HEAD, TOKENS, usage({ prompt_tokens: 11, completion_tokens: 90 })],
      events: 3,
    },
  ),

  ...left('left-drain', 'the client leaves before the headers', DRAIN, REPORTED, {
    before: [],
    events: 0,
    after: [HEAD, ROLE, TOKENS, FINISH, USAGE, DONE, 'end'],
  }),
  ...left('left-drain', 'the client leaves in the middle', DRAIN, REPORTED, {
    before: [HEAD, TOKENS],
    events: 1,
    after: [TOKENS, FINISH, USAGE, DONE, 'end'],
  }),
  ...left('left-drain', 'the client leaves in the middle, and no usage arrives', DRAIN, ESTIMATED, {
    before: [HEAD, TOKENS],
    events: 1,
    after: [FINISH, DONE, 'end'],
  }),
  ...left('left-drain', 'the client leaves in the middle, and the provider dies', DRAIN, NOTHING, {
    before: [HEAD, TOKENS],
    events: 1,
    after: [TOKENS, 'reset'],
  }),
  ...left('left-drain', 'the client leaves before the first token, and the provider dies', DRAIN, NOTHING, {
    before: [HEAD, ROLE],
    events: 1,
    after: ['reset'],
  }),
]
