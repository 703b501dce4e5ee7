import { describe, type ExpectStatic, test } from 'vitest'
import { TARGETS, type Target } from '../conversations/shape.js'
import { AGENTS, type Agent, MAIN } from './agents.js'
import { ClosedProxy } from './closed-proxy.js'
import { firstChange } from './requests.js'
import { Service } from './service.js'
import { ASIDE, DONE, priceOf, SUM, TURNS } from './task.js'
import { Workplace } from './workplace.js'

/** Each begins and ends at another kind of provider, and comes back to one that has thoughts of its own to verify. */
const CHANGES: Readonly<Record<Agent['api'], readonly Target[]>> = {
  responses: ['responses', 'messages', 'responses', 'sdk-chat'],
  messages: ['messages', 'responses', 'messages', 'gemini-chat'],
  chat: ['sdk-messages', 'chat', 'sdk-messages', 'sdk-responses'],
}

/** Members that these providers do not know, so that the router asks again without them. */
const ASKED_WITHOUT =
  /^groq .*'(prompt_cache_key|verbosity)'|^gemini-chat .*"prompt_cache_key\\"|^mistral .*"(user|verbosity|reasoning|reasoning_content)"/

/** Runs an agent through the task, whose turns go to these targets, and checks what reached everybody. */
async function work(agent: Agent, targets: readonly Target[], expect: ExpectStatic, signal: AbortSignal) {
  const workplace = await Workplace.make()
  const proxy = await ClosedProxy.start()
  const { place, service } = await Service.start(agent.model, targets, workplace.project)
  try {
    const ended = await workplace.run(agent, place, proxy.env, signal).finally(() => service.close())
    const refusals = service.refusals.filter((refusal) => !ASKED_WITHOUT.test(refusal))
    const wanted = [...proxy.wanted].filter((host) => !agent.asksElsewhere.includes(host))
    expect({ ...ended, failures: service.failures, refusals, wanted }).toMatchObject({
      code: 0,
      failures: [],
      refusals: [],
      wanted: [],
    })
    expect(ended.printed).toContain(DONE)
    expect(await workplace.read(SUM.file)).toBe(SUM.text)

    const { asides, asked } = service
    expect(asked.map(({ target }) => target)).toEqual(TURNS.map((_, turn) => targets[turn] ?? targets.at(-1)))
    for (const [turn, { knows = '' }] of TURNS.entries()) {
      const { request, target } = asked[turn]!
      for (const { says } of TURNS.slice(0, turn)) expect(request.text).toContain(says.text)
      expect(request.text).toContain(knows)
      const next = asked[turn + 1]
      if (next?.target === target) expect(firstChange(request.body, next.request.body)).toBe(undefined)
    }

    const replies = [...TURNS.map(({ says }) => says), ...Array.from({ length: asides }, () => ASIDE)]
    expect((await service.charged()).sort()).toEqual(replies.map(priceOf).sort())
    expect(await service.held()).toBe(0n)
    expect(service.trimmed).toEqual(agent.trimmed)
  } finally {
    await proxy.close()
    await workplace.remove()
  }
}

type Run = readonly [title: string, agent: Agent, targets: readonly Target[]]

/** Whether the script of the task can read which tools a provider was offered. Google's own API has them in a form of its own. */
const isScripted = (target: Target) => target !== 'sdk-gemini'

const RUNS: readonly Run[] = [
  ...MAIN.flatMap((agent) =>
    TARGETS.filter(isScripted).map(
      (target): Run => [`${agent.name} does a task of four turns at ${target}`, agent, [target]],
    ),
  ),
  ...AGENTS.map((agent): Run => {
    const targets = CHANGES[agent.api]
    return [`${agent.name} does a task whose four turns go to ${targets.join(', ')}`, agent, targets]
  }),
]

describe.concurrent('A coding agent', () => {
  test.for(RUNS)('%s', ([, agent, targets], { expect, signal }) => work(agent, targets, expect, signal))
})
