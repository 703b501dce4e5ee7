import { answerJson, type Script } from '../../helpers/scripted-upstream.js'
import type { Bench, BenchCall, BenchOptions } from '../bench.js'
import { type Answer, type Fault, NOTHING, send, takeOver } from '../fault.js'
import type { Row } from '../rows.js'

/** 11 tokens, as the scripted provider reports: (0.001 + 0.00011) x 1.2 + 0.0005. */
const REPORTED = '0.001832'
/** 10 tokens, by the documented ratio: (0.001 + 0.0001) x 1.2 + 0.0005. */
const ESTIMATED = '0.00182'
const USAGE = { prompt_tokens: 11, total_tokens: 11 }
const BROKEN = { status: 502, code: 'provider_error' }
const UNREADABLE = { status: 502, code: 'provider_invalid_response' }
const TIMEOUT = { status: 504, code: 'provider_timeout' }
const JSON_HEAD = { head: 200, headers: { 'content-type': 'application/json' } }
const ERROR = { message: 'no' }

const reply = (usage: object | null = USAGE) => ({ data: [{ index: 0, embedding: [0.5] }], usage })

const EMBEDDINGS: readonly Fault[] = [
  fault('http-error', 'the embeddings provider dies before its headers', ['reset'], NOTHING, BROKEN),
  fault('http-error', 'the embeddings provider closes before its headers', ['hang-up'], NOTHING, BROKEN),
  fault(
    'http-error',
    'the embeddings provider answers 500',
    answerJson({ error: ERROR }, 500),
    NOTHING,
    BROKEN,
  ),
  fault('http-error', 'the embeddings provider answers 400', answerJson({ error: ERROR }, 400), NOTHING, {
    status: 400,
    code: 'provider_rejected_request',
  }),
  fault('http-error', 'the embeddings provider answers 401', answerJson({ error: ERROR }, 401), NOTHING, {
    status: 502,
    code: 'provider_auth_failed',
  }),
  fault('http-error', 'the embeddings provider answers 429', answerJson({ error: ERROR }, 429), NOTHING, {
    status: 429,
    code: 'rate_limited',
  }),
  fault('http-error', 'the embeddings provider answers 503', answerJson({ error: ERROR }, 503), NOTHING, {
    status: 503,
    code: 'provider_overloaded',
  }),
  fault(
    'http-error',
    'the embeddings provider answers 200 with an error and a usage',
    answerJson({ error: ERROR, usage: USAGE }),
    NOTHING,
    BROKEN,
  ),
  fault(
    'http-error',
    'the embeddings provider redirects',
    [{ head: 307, headers: { location: '/elsewhere' } }, 'end'],
    NOTHING,
    UNREADABLE,
  ),
  fault(
    'http-error',
    'the embeddings provider dies after its headers',
    [JSON_HEAD, 'reset'],
    NOTHING,
    BROKEN,
  ),
  fault(
    'http-error',
    'the embeddings provider dies in the middle of its body',
    [JSON_HEAD, { write: '{"data":[{"embedding":[0.5' }, 'hang-up'],
    NOTHING,
    BROKEN,
  ),
  fault(
    'http-error',
    'the embeddings provider sends something other than JSON',
    [JSON_HEAD, { write: '<html>' }, 'end'],
    NOTHING,
    UNREADABLE,
  ),
  fault(
    'http-error',
    'the provider sends fewer embeddings than inputs, with a usage',
    answerJson({ data: [], usage: USAGE }),
    NOTHING,
    UNREADABLE,
  ),
  fault(
    'http-error',
    'the provider sends an invalid embedding, with a usage',
    answerJson({ data: [{ embedding: [null] }], usage: USAGE }),
    NOTHING,
    UNREADABLE,
  ),
  {
    row: 'http-error',
    name: 'the embeddings provider is silent until the total deadline',
    stream: false,
    options: { timeouts: { totalMs: 30_000 } },
    async play(bench) {
      const taken = takeOver(bench)
      const call = bench.embed()
      await taken
      await bench.clock.elapse(30_000)
      await call.client.over
      return call
    },
    due: NOTHING,
    answer: TIMEOUT,
  },
  fault(
    'all-failed',
    'every embeddings provider answers 500',
    answerJson({ error: ERROR }, 500),
    NOTHING,
    BROKEN,
    { routes: [{}, {}] },
  ),
  fault('reported', 'embeddings arrive with their usage', answerJson(reply()), REPORTED, 'embedding'),
  fault('estimated', 'embeddings arrive without a usage', answerJson(reply(null)), ESTIMATED, 'embedding'),
  {
    row: 'left-drain',
    name: 'the client leaves before its embeddings arrive',
    stream: false,
    async play(bench) {
      const taken = takeOver(bench)
      const call = bench.embed()
      const upstream = await taken
      await bench.leave(call)
      await send(upstream, JSON_HEAD, { write: JSON.stringify(reply()) }, 'end')
      await bench.event('request-end', call)
      return call
    },
    due: REPORTED,
    answer: 'left',
  },
  {
    row: 'ledger-hold',
    name: 'the ledger throws at the hold for embeddings',
    stream: false,
    play: (bench) => {
      bench.plan.next('hold', 'throws')
      return played(bench, [])
    },
    due: NOTHING,
    answer: { status: 503, code: 'ledger_unavailable' },
  },
  {
    row: 'ledger-settle',
    name: 'the ledger throws at the settlement of embeddings, once',
    stream: false,
    async play(bench) {
      bench.plan.next('settle', 'throws')
      bench.upstream.script(answerJson(reply()))
      const call = bench.embed()
      await bench.plan.asked('settle')
      await bench.clock.elapse(100)
      await call.client.over
      return call
    },
    due: REPORTED,
    answer: 'embedding',
  },
]

function fault(
  row: Row,
  name: string,
  script: Script,
  due: string,
  answer: Answer,
  options: BenchOptions = {},
): Fault {
  return { row, name, stream: false, options, play: (bench) => played(bench, script), due, answer }
}

/** Plays a call whose providers all send the same. */
async function played(bench: Bench, script: Script): Promise<BenchCall> {
  for (const upstream of bench.upstreams) upstream.script(script)
  const call = bench.embed()
  await call.client.over
  return call
}

/** Embeddings are JSON, so most faults are HTTP errors. */
export const embeddings: readonly Fault[] = EMBEDDINGS.map((fault) => ({ ...fault, apis: [] }))
