import { answerJson } from '../../helpers/scripted-upstream.js'
import type { BenchOptions } from '../bench.js'
import { eventByEvent, type Fault, NOTHING, type ScriptedFault, scripted } from '../fault.js'
import { body, COUNTS, DONE, FINISH, HEAD, ROLE, TOKENS, USAGE, wholeBody } from '../upstream-scripts.js'

/** Shaped like an envelope. The opener in these tests does not look inside. */
const OWN_KEY = { provider: 'p0', provider_key: 'v1.header..nonce.text.tag' }

/** A fee of 0.0002 and a tenth of the list price. */
const FEE = { flat: '0.0002', basisPoints: 1_000 }

/** The caller's own provider key: the fee replaces the price, and the markup is on the fee. */
export const byok: readonly Fault[] = [
  // 0 x 1.2 + 0.0005
  ...onOwnKey('reported', 'the host charges no fee', {}, '0.0005'),
  // (0.0002 + 0.1 x 0.00125) x 1.2 + 0.0005
  ...onOwnKey('reported', 'the host charges a fee', { byokFee: FEE }, '0.00089'),
  ...onOwnKey(
    'never-overdraw',
    'the fee is flat',
    { byokFee: { flat: '0.0002' }, neverOverdraw: true },
    '0.00074',
  ),
  {
    row: 'never-overdraw',
    name: 'on the caller’s own key, the fee is flat, and the stream arrives event by event',
    stream: true,
    options: withOpener({ byokFee: { flat: '0.0002' }, neverOverdraw: true }),
    play: (bench) => eventByEvent(bench, OWN_KEY),
    due: '0.00074',
    answer: 'whole',
  },
  ...scripted({
    row: 'http-error',
    name: 'on the caller’s own key, the provider refuses it: no fee',
    options: withOpener({ byokFee: FEE }),
    body: OWN_KEY,
    scripts: { stream: [answerJson({ error: 'no' }, 401)], json: [answerJson({ error: 'no' }, 401)] },
    due: NOTHING,
    answer: { status: 400, code: 'provider_key_rejected' },
  }),
  ...scripted({
    row: 'broken',
    name: 'on the caller’s own key, the provider dies: no fee',
    options: withOpener({ byokFee: FEE }),
    body: OWN_KEY,
    scripts: { stream: [[HEAD, TOKENS, 'reset']] },
    due: NOTHING,
    answer: { frame: 'provider_error' },
  }),
]

function onOwnKey(
  row: Fault['row'],
  name: string,
  router: NonNullable<BenchOptions['router']>,
  due: string,
): Fault[] {
  const fault: ScriptedFault = {
    row,
    name: `on the caller’s own key, ${name}`,
    options: withOpener(router),
    body: OWN_KEY,
    scripts: {
      stream: [[HEAD, ROLE, TOKENS, FINISH, USAGE, DONE, 'end']],
      json: [wholeBody(body({ usage: COUNTS }))],
    },
    due,
    answer: 'whole',
    async also(bench, call) {
      const { charge } = await bench.event('request-end', call)
      if (charge?.byok !== true) throw new Error('not marked as on the caller’s own key')
      const key = bench.upstream.requests[0]!.headers.authorization
      if (key !== 'Bearer key-of-the-caller') throw new Error(`the provider received ${key}`)
    },
  }
  return scripted(fault)
}

function withOpener(router: NonNullable<BenchOptions['router']>): BenchOptions {
  const secret = { reveal: () => 'key-of-the-caller' }
  return {
    routes: [{ byok: 'only' }],
    router: { ...router, envelopes: { open: () => ({ ok: true, secret }) } },
  }
}
