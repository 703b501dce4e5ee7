import { afterEach, expect, test } from 'vitest'
import { type Script, type Step, sse } from '../helpers/scripted-upstream.js'
import { ask, framesOf, WireService } from './service.js'

const HEAD: Step = { head: 200, headers: { 'content-type': 'text/event-stream' } }
const DONE: Step = { write: 'data: [DONE]\n\n' }

function said(index: number, finishReason: string | null): Step {
  return { write: sse([{ choices: [{ index, delta: { content: 'Hi' }, finish_reason: finishReason }] }]) }
}

let service: WireService
afterEach(() => service.close())

async function reply(stream: boolean, script: Script) {
  service = await WireService.start()
  service.upstream.script(script)
  const before = await service.posted('alice')
  const answer = await service.post(ask({ n: 2, stream }))
  const text = await answer.text()
  return { status: answer.status, text, cost: before - (await service.posted('alice')) }
}

test('a provider that breaks off between two choices is no success, and free', async () => {
  const streamed = await reply(true, [HEAD, said(0, 'stop'), 'reset'])
  expect(framesOf(streamed.text).at(-1)).toMatchObject({ error: { code: 'provider_error' } })
  expect(streamed.text).not.toContain('[DONE]')
  expect(streamed.cost).toBe(0n)
  await service.close()
  const whole = await reply(false, [HEAD, said(0, 'stop'), 'reset'])
  expect([whole.status, whole.cost]).toEqual([502, 0n])
})

test.each<[string, Script]>([
  ['both choices have finished', [HEAD, said(0, 'stop'), said(1, 'stop'), 'reset']],
  ['it ends properly with fewer choices than were asked for', [HEAD, said(0, 'stop'), 'end']],
  ['it says that it is done with fewer', [HEAD, said(0, 'stop'), DONE, 'end']],
])('a reply is one where %s', async (_, script) => {
  const { text, cost } = await reply(true, script)
  expect(text).toContain('[DONE]')
  expect(cost).toBeGreaterThan(0n)
})
