import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { isLong } from '../helpers/long.js'
import { fakeTarget, type Plant } from './fake-target.js'
import { BookedProvider, PROMPT } from './provider.js'
import { runTarget } from './run.js'
import { type Scenario, SMALL, scenariosOf } from './scenarios.js'
import { difference, isExact, isOffered, type Outcome, type Score } from './score.js'
import { report } from './table.js'
import { oursTarget } from './targets/ours.js'
import { PRICES, priceOf } from './usage.js'

const SCENARIOS = scenariosOf(SMALL)
/** The scenarios whose usage the fake can read. */
const READABLE = SCENARIOS.filter(
  ({ name }) => !name.startsWith('cached') || name.includes('prompt_tokens_details'),
)
const EACH = priceOf({ prompt: 100, cached: 0, completion: 100 }, PRICES)

function scoreOf(outcomes: readonly Outcome[], name: string | RegExp, mode?: Score['mode']): Score {
  const found = outcomes
    .filter(isOffered)
    .find((score) => score.scenario.match(name) !== null && (mode === undefined || score.mode === mode))
  if (found === undefined) throw new Error(`no score of ${name}`)
  return found
}

function only(name: string | RegExp): readonly Scenario[] {
  return SCENARIOS.filter((scenario) => scenario.name.match(name) !== null)
}

describe('the billing benchmark', () => {
  it('asks for as many tokens as its provider bills', () => {
    expect(encode(PROMPT)).toHaveLength(93)
  })

  it('has a provider that also reads chunked requests, as proxies send them', async () => {
    const provider = await BookedProvider.start()
    provider.follow({ usage: 'asked', spelling: 'openai', cached: 0, ending: 'whole' })
    const post = request(`${provider.baseUrl}/chat/completions`, { method: 'POST' })
    post.write('{"model":"gpt-4o",')
    post.end('"messages":[]}')
    const [response] = (await once(post, 'response')) as [IncomingMessage]
    expect(JSON.parse(await text(response)).usage.total_tokens).toBe(200)
    await provider.close()
  })

  it('prints 0 in every column for an exact gateway', async () => {
    const target = fakeTarget()
    const outcomes = await runTarget(target, READABLE)
    expect(outcomes.filter((outcome) => !isOffered(outcome) || !isExact(outcome))).toEqual([])
    expect(report(target, outcomes)).toContain('| **all together** |  |  |  |  | 0 | 0 | 0 | 0 | 0 |  |')
  })

  it('finds a charge that is one billionth too high', async () => {
    const outcomes = await runTarget(fakeTarget('rounds-up'), only('without incident'))
    expect(difference(scoreOf(outcomes, 'without incident', 'JSON'))).toBe(1n)
  })

  it('finds usage that the gateway does not understand', async () => {
    const outcomes = await runTarget(fakeTarget(), only('cachedContentTokenCount'))
    expect(scoreOf(outcomes, 'cachedContentTokenCount')).toMatchObject({ charged: 0n, losses: 1 })
  })

  it('finds a call that is charged twice', async () => {
    const outcomes = await runTarget(fakeTarget('charges-twice'), only('without incident'))
    expect(scoreOf(outcomes, 'without incident', 'stream')).toMatchObject({ doubles: 1, losses: 0 })
  })

  it('finds a call that is not charged', async () => {
    const outcomes = await runTarget(fakeTarget('forgets-streams'), only('without incident'))
    expect(scoreOf(outcomes, 'without incident', 'stream')).toMatchObject({ doubles: 0, losses: 1 })
    expect(isExact(scoreOf(outcomes, 'without incident', 'JSON'))).toBe(true)
  })

  it('finds concurrent calls that exceed a limit, unless the target announces that', async () => {
    const plant: Plant = 'checks-then-charges'
    const excess = EACH * BigInt(SMALL.crowd - SMALL.fits)
    const outcomes = await runTarget(fakeTarget(plant), only('at once'))
    expect(scoreOf(outcomes, 'on credit').overshoot).toBe(excess)
    expect(scoreOf(outcomes, 'monthly cap').overshoot).toBe(excess)
    const stated = await runTarget(
      fakeTarget(plant, { mayExceedLimits: 'by calls in flight' }),
      only('on credit'),
    )
    expect(scoreOf(stated, 'on credit')).toMatchObject({ overshoot: 0n })
    expect(scoreOf(stated, 'on credit').note).toContain('it announces this: by calls in flight')
  })

  it('finds a call that is refused although the limit covers it', async () => {
    const outcomes = await runTarget(fakeTarget('refuses-early'), only('at once'))
    expect(scoreOf(outcomes, 'on credit')).toMatchObject({ falseRefusals: 1, overshoot: 0n })
    expect(scoreOf(outcomes, 'monthly cap')).toMatchObject({ falseRefusals: 1, overshoot: 0n })
  })

  it('finds calls with a key that was revoked', async () => {
    const outcomes = await runTarget(fakeTarget('revokes-late'), only('revoked'))
    expect(scoreOf(outcomes, 'revoked').overshoot).toBeGreaterThanOrEqual(EACH)
  })

  it('finds a charge that is lost when the gateway is killed', async () => {
    const outcomes = await runTarget(fakeTarget('forgets-when-killed'), only('kill'))
    expect(scoreOf(outcomes, 'kill')).toMatchObject({ losses: 1, doubles: 0 })
  })

  it('does not count a call if the target states no policy for it', async () => {
    const target = fakeTarget('charges-twice', { owes: () => ({ unstated: true }) })
    const outcomes = await runTarget(target, only('the client leaves late'))
    expect(isExact(scoreOf(outcomes, 'the client leaves late'))).toBe(true)
    expect(report(target, outcomes)).toContain('unstated')
  })

  it('says what a target does not offer', async () => {
    const target = fakeTarget()
    const outcomes = await runTarget(
      {
        ...target,
        start: async (upstream) => {
          const gateway = await target.start(upstream)
          const { headers, key, model, url } = gateway
          return { headers, key, model, url, stop: () => gateway.stop() }
        },
      },
      SCENARIOS,
    )
    expect(outcomes.filter(isOffered)).toEqual([])
    expect(report(target, outcomes)).toContain(
      '- Not offered, because it has no costs: a call without incident',
    )
  })
})

describe('the built package in the billing benchmark', () => {
  it.each(isLong ? (['memory', 'SQLite'] as const) : (['memory'] as const))(
    'has 0 in every column, with stores in %s',
    async (stores) => {
      const outcomes = await runTarget(await oursTarget(stores), SCENARIOS)
      const scores = outcomes.filter(isOffered)
      expect(scores.filter((score) => !isExact(score))).toEqual([])
      expect(scores.filter(({ due }) => due === undefined)).toEqual([])
      const missing = outcomes.filter((outcome) => !isOffered(outcome)).map(({ scenario }) => scenario)
      expect(missing).toEqual(stores === 'memory' ? [expect.stringContaining('kill -9')] : [])
    },
    120_000,
  )
})
