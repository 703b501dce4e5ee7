import { describe, expect, it } from 'vitest'
import type { CallQuery, CallStore } from '../../src/stores.js'
import { slowdown } from '../helpers/cpu-time.js'
import { engineNames, useEngine } from '../helpers/engines.js'

const CALLS = 100_000
const PART = 10_000
const START = 1_700_000_000_000
const STEP_MS = 10_000
const MOST_MS = 100
/** Other programs may keep the machine busy: the best of these counts. */
const TRIES = 5

/** Every hundredth call is a problem. There are ten accounts with ten keys each. */
const QUERIES: Readonly<Record<string, CallQuery>> = {
  newest: {},
  account: { account: 'account-3' },
  key: { credentialId: 'key-42' },
  'problems of an account': { account: 'account-7', problems: true },
  problems: { problems: true },
  status: { status: 502 },
  'status of success': { status: 200 },
  'calls that completed': { outcome: 'completed' },
  code: { outcome: 'rare_error' },
  'code and account': { outcome: 'provider_error', account: 'account-7' },
  time: { from: START + 50_000 * STEP_MS, to: START + 50_100 * STEP_MS },
  model: { model: 'acme/model-3' },
  'model that nobody used': { model: 'acme/unused' },
  'model of an account that never used it': { account: 'account-3', model: 'acme/model-4' },
  'key of another account': { account: 'account-3', credentialId: 'key-4' },
  'app of an account that has none': { account: 'account-3', appId: 'app-4' },
  'app and model that never met': { appId: 'app-4', model: 'acme/model-3' },
  'status that nobody got': { status: 418 },
  request: { requestId: 'request-777' },
}

describe.each(engineNames)(`${CALLS} kept calls in %s`, (name) => {
  const engine = useEngine(name)

  it(`are paged and filtered in less than ${MOST_MS} ms`, async () => {
    const { calls, database } = engine.open('many')
    const number = name === 'SQLite' ? 'value' : 'g'
    // In parts: a busy machine may need longer for all of them than a statement may take.
    for (let first = 1; first <= CALLS; first += PART) {
      const last = first + PART - 1
      const numbers =
        name === 'SQLite'
          ? `(with recursive n (value) as (select ${first} union all select value + 1 from n where value < ${last}) select value from n) n`
          : `generate_series(${first}, ${last}) g`
      await database.all({
        text: `insert into {calls} (id, request_id, at, operation, status, outcome, is_problem, account, credential_id,
            app_id, model, details)
          select 'chatcmpl-' || ${number}, 'request-' || ${number}, ${START} + ${number} * ${STEP_MS}, 'chat',
            case when ${number} % 100 = 7 then 502 else 200 end,
            case when ${number} = 107 then 'rare_error' when ${number} % 100 = 7 then 'provider_error' else 'completed' end,
            case when ${number} % 100 = 7 then 1 else 0 end,
            'account-' || (${number} % 10), 'key-' || (${number} % 100), 'app-' || (${number} % 5), 'acme/model-' || (${number} % 20),
            '${JSON.stringify({ durationMs: 1, finishReason: 'x'.repeat(600) })}'
          from ${numbers}`,
      })
    }
    await calls.list()
    const slow: string[] = []
    async function check(what: string, query: CallQuery): Promise<void> {
      const ms = await timeOf(calls, query)
      if (ms >= MOST_MS) slow.push(`${what}: ${ms} ms`)
    }
    for (const [what, query] of Object.entries(QUERIES)) await check(what, query)
    let page = await calls.list({ limit: 1_000 })
    for (let count = 0; count < 50; count++) page = await calls.list({ limit: 1_000, after: page.next! })
    await check('a deep page', { after: page.next! })
    expect(slow).toEqual([])
  }, 180_000)
})

/** The time on a machine that does nothing else. */
async function timeOf(calls: CallStore, query: CallQuery): Promise<number> {
  let best = Infinity
  for (let tries = 0; tries < TRIES; tries++) {
    const start = performance.now()
    await calls.list(query)
    const ms = performance.now() - start
    best = Math.min(best, ms < MOST_MS ? ms : ms / slowdown())
  }
  return best
}
