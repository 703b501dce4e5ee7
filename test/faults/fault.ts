import { strict as assert } from 'node:assert'
import { assertBalance, assertOneCharge, wireCharge } from '../helpers/charge-assertions.js'
import { decimal, nanos } from '../helpers/decimals.js'
import type { Script, ScriptedReply, Step } from '../helpers/scripted-upstream.js'
import { APIS, type Api, type ApiName } from './apis.js'
import { Bench, type BenchCall, type BenchOptions, type Library, PAYER } from './bench.js'
import type { Row } from './rows.js'
import { DONE, FINISH, HEAD, TOKENS, USAGE } from './upstream-scripts.js'

type BenchHeaders = Readonly<Record<string, string>>

/** One fault, and its result by the truth table. */
export interface Fault {
  readonly row: Row
  readonly name: string
  readonly stream: boolean
  readonly options?: BenchOptions
  /** Plays it until nothing more happens to the call. */
  play(bench: Bench): Promise<BenchCall>
  /** Calculated by hand. */
  readonly due: string
  readonly answer: Answer
  /** The charge, if the call's own process can no longer report it. */
  charged?(bench: Bench): Promise<string>
  /** Further conditions. */
  also?(bench: Bench, call: BenchCall): void | Promise<void>
  readonly left?: Parameters<Bench['finish']>[0]
  /** The APIs through which it is played: all of those with chats by default. If empty, the fault calls another one. */
  readonly apis?: readonly ApiName[]
}

/** The client's final reply. */
export type Answer =
  /** 200 and a complete reply, with the charge. */
  | 'whole'
  /** The same, with tool calls. */
  | 'calls'
  /** 200 and one embedding, with the charge. */
  | 'embedding'
  /** The same, but ended by the router. */
  | 'cut'
  /** It disconnected. */
  | 'left'
  /** An HTTP error. */
  | { readonly status: number; readonly code: string }
  /** A stream that ends in an error instead of `[DONE]`, with the charge. */
  | { readonly frame: string }

/**
 * Charges of a call of {@link Bench.call}, calculated by hand: (request + prompt + completion) x 1.2 +
 * 0.0005.
 */
export const NOTHING = '0'
/**
 * 11 prompt and 7 completion tokens, as the scripted provider reports: (0.001 + 0.00011 + 0.00014) x 1.2 +
 * 0.0005.
 */
export const REPORTED = '0.002'
/**
 * 10 and 5, by the documented ratios, for {@link PROMPT} and one {@link TEXT}: (0.001 + 0.0001 + 0.0001) x
 * 1.2 + 0.0005.
 */
export const ESTIMATED = '0.00194'
/** Zero tokens, but reported: 0.001 x 1.2 + 0.0005. */
export const FIXED = '0.0017'

export interface Played {
  readonly charged: string
  readonly due: string
}

/** Plays a fault against the package. Rejects if anything except the amount charged is wrong. */
export async function playFault(library: Library, fault: Fault, api = APIS[0]!): Promise<Played> {
  const bench = await Bench.start(library, fault.options, api)
  let finished = false
  try {
    const call = await fault.play(bench)
    await call.client.over
    const charged = (await fault.charged?.(bench)) ?? (await assertEnd(bench, call, fault.answer))
    assertAnswer(call, fault.answer, api)
    await fault.also?.(bench, call)
    const opening = bench.accounts[PAYER] ?? '0'
    await assertBalance(bench.ledger, PAYER, decimal(nanos(opening) - nanos(charged)))
    finished = true
    await bench.finish(fault.left)
    return { charged, due: fault.due }
  } finally {
    if (!finished) await bench.close()
  }
}

async function assertEnd(bench: Bench, call: BenchCall, answer: Answer): Promise<string> {
  const end = await bench.event('request-end', call)
  assert.equal(end.outcome, outcomeOf(answer), 'the outcome in the event')
  return assertOneCharge({ requestId: call.id, wire: call.client.text, end, ledger: bench.ledger })
}

/** The APIs through which a fault is played. */
export function apisOf({ apis }: Fault): readonly Api[] {
  return apis === undefined ? APIS : APIS.filter(({ name }) => apis.includes(name))
}

function assertAnswer({ client, stream }: BenchCall, answer: Answer, api: Api): void {
  const { complete, headers, status, text } = client
  if (answer === 'left') {
    assert.equal(complete, false, 'the client left before the end')
    return
  }
  assert.equal(complete, true, `the reply is complete: ${text}`)
  if (typeof answer === 'object' && 'status' in answer) {
    assert.equal(status, answer.status, text)
    assert.equal(JSON.parse(text).error.code, answer.code)
    return
  }
  assert.equal(status, 200, text)
  assert.ok(wireCharge(text) !== undefined, `the client is told its charge: ${text}`)
  if (answer === 'embedding') {
    assert.equal(JSON.parse(text).data.length, 1)
    return
  }
  if (stream) assert.match(String(headers['content-type']), /^text\/event-stream/)
  if (typeof answer === 'object') api.assertFailed(text, answer.frame)
  else api.assertWhole(text, stream, answer)
}

function outcomeOf(answer: Answer): string {
  if (answer === 'left') return 'client-left'
  if (typeof answer === 'string') return 'completed'
  return 'status' in answer ? answer.code : answer.frame
}

export interface ScriptedFault extends Omit<Fault, 'stream' | 'play' | 'answer' | 'due'> {
  /** The providers' scripts, in the order of the routes, for a streamed and a JSON request. */
  readonly scripts: { readonly stream?: readonly Script[]; readonly json?: readonly Script[] }
  readonly due: string | { readonly stream: string; readonly json: string }
  readonly answer: Answer | { readonly stream: Answer; readonly json: Answer }
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Faults caused by the providers' replies to a client that reads to the end: one for each kind of reply. */
export function scripted({ scripts, due, answer, body, headers, ...fault }: ScriptedFault): Fault[] {
  return (['stream', 'json'] as const).flatMap((kind): Fault[] => {
    const script = scripts[kind]
    if (script === undefined) return []
    return [
      {
        ...fault,
        stream: kind === 'stream',
        due: typeof due === 'string' ? due : due[kind],
        answer: typeof answer === 'object' && 'json' in answer ? answer[kind] : answer,
        async play(bench) {
          for (const [index, each] of script.entries()) bench.upstreams[index]!.script(each)
          const call = bench.call(kind === 'stream', body, headers)
          await call.client.over
          return call
        },
      },
    ]
  })
}

/** A stream that reaches the router event by event, however the network groups it. */
export async function eventByEvent(bench: Bench, body: object, headers?: BenchHeaders): Promise<BenchCall> {
  const { call, reply } = await takeOverCall(bench, true, body, headers)
  for (const [sent, step] of [TOKENS, TOKENS, FINISH, USAGE].entries()) {
    await (sent === 0 ? send(reply, HEAD, step) : send(reply, step))
    await bench.takes(sent + 1)
  }
  await send(reply, DONE, 'end')
  return call
}

/** The same fault for a streaming client and for a JSON client. */
export function inBothModes(make: (stream: boolean) => Omit<Fault, 'stream'>): Fault[] {
  return [true, false].map((stream) => ({ ...make(stream), stream }))
}

/** Starts a call whose provider request {@link takeOver} has taken over. */
export async function takeOverCall(bench: Bench, ...args: Parameters<Bench['call']>) {
  const taken = takeOver(bench)
  const call = bench.call(...args)
  return { call, reply: await taken }
}

/**
 * Lets the test decide what a provider sends, and when. After its end the connection accepts the next
 * request.
 */
export function takeOver(bench: Bench, index = 0): Promise<ScriptedReply> {
  return new Promise((resolve) => {
    bench.upstreams[index]!.script(
      (reply) =>
        new Promise((over) => {
          const end = (): void => {
            reply.end()
            over()
          }
          void reply.closed.then(over)
          resolve(Object.create(reply, { end: { value: end } }))
        }),
    )
  })
}

export async function send(reply: ScriptedReply, ...steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (step === 'end') reply.end()
    else if (step === 'hang-up') reply.hangUp()
    else if (step === 'reset') reply.reset()
    else if (typeof step === 'object' && 'head' in step) reply.head(step.head, step.headers)
    else if (typeof step === 'object' && 'write' in step) await reply.write(step.write)
    else throw new Error(`a step that cannot be sent: ${JSON.stringify(step)}`)
  }
}
