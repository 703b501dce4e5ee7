import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseCredits } from '../../src/index.js'
import { FAST, openStage, type Stage } from '../console/browser/stage.js'
import { answerJson, type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'

const PAGE = 'https://app.example'
const AT_ONCE = 50
/** Of 1,000 and 100 tokens, at 0.15 and 0.60 credits a million. */
const COST = 210_000n
/** Room for three calls, with their holds. */
const BUDGET = '0.0009'
const REPLY = {
  id: 'one',
  object: 'chat.completion',
  created: 1,
  model: 'upstream',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 },
}

describe('a session with a budget', () => {
  let upstream: ScriptedUpstream
  let stage: Stage
  beforeAll(async () => {
    upstream = await startScriptedUpstream()
    upstream.script(answerJson(REPLY))
    stage = await openStage({ baseUrl: upstream.baseUrl, apiKey: 'sk-upstream' })
  })
  afterAll(async () => {
    await stage?.close()
    await upstream?.close()
  })

  async function call(token: string): Promise<number> {
    const response = await fetch(`${stage.origin}/compat/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', origin: PAGE },
      body: JSON.stringify({
        model: FAST,
        max_tokens: 100,
        messages: [{ role: 'user', content: 'a'.repeat(900) }],
      }),
    })
    await response.text()
    return response.status
  }

  async function paidBy(calls: () => Promise<void>): Promise<bigint> {
    const before = (await stage.admin.accounts.balance('alice'))!.posted
    await calls()
    await expect.poll(async () => (await stage.admin.accounts.balance('alice'))?.held).toBe(0n)
    return before - (await stage.admin.accounts.balance('alice'))!.posted
  }

  it('never spends more, even with all of its tokens and many concurrent calls', async () => {
    const { credentialId, token } = await stage.admin.sessions.issue({
      account: 'alice',
      origins: [PAGE],
      budget: { amount: BUDGET },
    })
    const next = await stage.admin.sessions.refresh(credentialId)
    const statuses: number[] = []
    const paid = await paidBy(async () => {
      const calls = Array.from({ length: AT_ONCE }, (_, index) => call(index % 2 === 0 ? token : next.token))
      statuses.push(...(await Promise.all(calls)))
      while (statuses.at(-1) !== 402) statuses.push(await call(next.token))
    })
    const paidCalls = statuses.filter((status) => status === 200).length
    expect(paid).toBe(BigInt(paidCalls) * COST)
    expect(paidCalls).toBeGreaterThan(1)
    expect(paid).toBeLessThanOrEqual(parseCredits(BUDGET))
    // Another token of the session does not start anew.
    expect(await call((await stage.admin.sessions.refresh(credentialId)).token)).toBe(402)
  })

  it('for an app pays the markup to the app', async () => {
    await stage.stores.connect.consent({
      account: 'alice',
      appId: 'notes',
      scopes: ['models.run'],
      models: [FAST],
      markup: { basisPoints: 2_000 },
      appName: 'Notes',
      redirectHost: 'notes.example',
    })
    const { token } = await stage.admin.sessions.issue({ account: 'alice', app: 'notes', origins: [PAGE] })
    const paid = await paidBy(async () => expect(await call(token)).toBe(200))
    expect(paid).toBe((COST * 12n) / 10n)
    expect((await stage.admin.accounts.balance('notes-earnings'))!.posted).toBe((COST * 2n) / 10n)
  })
})
