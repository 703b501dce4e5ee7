import { afterEach, describe, expect, it } from 'vitest'
import { answerJson, type Script } from '../helpers/scripted-upstream.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import {
  type Answer,
  answers,
  contentOf,
  errorOf,
  MODEL,
  perform,
  type Service,
  startService,
  usageOf,
} from './service.js'

let service: Service
afterEach(() => service.close())

const APART = {
  role: 'assistant',
  content: 'Hm.',
  reasoning: 'signed',
  reasoning_details: [{ text: 'signed' }],
}
const HONEST = {
  stream: true,
  messages: [{ role: 'user', content: 'Hello' }, APART, { role: 'user', content: 'And?' }],
}
const REPORTED = { charge: { basis: 'reported' } }

const user = (...content: unknown[]) => ({
  messages: [{ role: 'user', content: content.length === 1 ? content[0] : content }],
})
const refusal = (error: unknown, status = 400): Script => answerJson(error as object, status)

/** A caller's request and the words it makes a provider say. */
const attacks: readonly [what: string, body: object, refusal: Script][] = [
  ...['stream_options', 'messages.1.reasoning'].flatMap((word): (typeof attacks)[number][] => {
    const address = `https://img.example.com/${word}.png`
    return [
      [
        `${word} in the address of an image`,
        user({ type: 'image_url', image_url: { url: address } }, { type: 'text', text: 'What is it?' }),
        refusal({
          error: {
            message: `Timeout while downloading ${address}.`,
            param: 'url',
            code: 'invalid_image_url',
          },
        }),
      ],
      [`${word} as the whole message`, user(word), refusal({ error: { message: word } })],
      [
        `${word} in quotes`,
        user(`"${word}"`),
        refusal({ error: { message: `Unknown parameter: '${word}'.` } }),
      ],
      [
        `${word} in a fixed sentence`,
        user(`property '${word}' is unsupported`),
        refusal({ error: { message: `property '${word}' is unsupported, did you mean 'stream'?` } }),
      ],
      [`${word} as param`, user('Hi'), refusal({ error: { message: 'Unknown parameter.', param: word } })],
      [
        `${word} as a place`,
        user('Hi'),
        refusal({ detail: [{ loc: ['body', ...word.split('.')], msg: 'Extra inputs' }] }, 422),
      ],
      [`${word} as code`, user('Hi'), refusal({ error: { message: 'no', code: word } }, 422)],
    ]
  }),
  [
    'the name of a tool',
    { ...user('Hi'), tools: [{ type: 'function', function: { name: 'stream_options', parameters: {} } }] },
    refusal({ error: { message: 'Invalid tool.', param: 'tools.0.function.stream_options' } }),
  ],
  [
    'a path into messages',
    user('Hi'),
    refusal({ error: { message: 'Unknown parameter.', param: 'messages.0.stream_options' } }),
  ],
]

async function honest(): Promise<[answer: Answer, sent: string]> {
  const answer = await service.ask(HONEST)
  return [answer, service.upstreams[0]!.requests.at(-1)!.text]
}

describe.each([true, false])('words that a caller makes a provider quote (streamed: %s)', (stream) => {
  it.each(attacks)(
    'change no other request, and the caller still pays the normal price: %s',
    async (_, body, refused) => {
      service = await startService({ balance: '100' })
      const [upstream] = service.upstreams
      const [before, sentBefore] = await honest()
      expect(JSON.parse(sentBefore)).toMatchObject({
        stream_options: { include_usage: true },
        messages: HONEST.messages,
      })

      upstream!.scriptOnce(refused)
      const attack = { stream, ...body, ...(stream && { stream_options: { include_usage: false } }) }
      const attacker = await service.ask(attack)
      expect(attacker.status).toBe(400)
      expect(errorOf(attacker).code).toBe('provider_rejected_request')
      expect((await service.end(attacker)).charge).toBeUndefined()
      // No provider was called again without usage.
      expect(upstream!.requests).toHaveLength(2)

      const [after, sentAfter] = await honest()
      expect(sentAfter).toBe(sentBefore)
      expect(usageOf(after)).toEqual(usageOf(before))
      expect(usageOf(after)).toMatchObject(REPORTED)
      // The attacker's own call, once the provider accepts it.
      const served = await service.ask(attack)
      expect(usageOf(served)).toMatchObject({ cost: usageOf(before).cost, ...REPORTED })
    },
  )
})

it("reasoning that a provider refuses is omitted only from the caller's own call, which is charged as reported", async () => {
  service = await startService({ balance: '100' })
  const [upstream] = service.upstreams
  const [before, sentBefore] = await honest()
  upstream!.scriptOnce(refusal({ error: { message: 'messages.1.reasoning is not permitted' } }))
  const attacker = await service.ask(HONEST)
  expect(contentOf(attacker)).toBe('I am p0')
  expect(usageOf(attacker)).toEqual(usageOf(before))
  const [, refused, again] = upstream!.requests
  expect(refused!.text).toBe(sentBefore)
  expect(again!.body).toMatchObject({ stream_options: { include_usage: true } })
  expect(again!.text).not.toContain('signed')
  expect((await honest())[1]).toBe(sentBefore)
})

it('the host is told which setting to change if its provider refuses stream_options', async () => {
  service = await startService()
  const words = 'Extra inputs are not permitted: stream_options'
  service.upstreams[0]!.script((reply, { body }) =>
    perform(
      'stream_options' in (body as object) ? refusal({ message: words }, 422) : refusal({}, 500),
      reply,
    ),
  )
  const answer = await service.ask({ stream: true })
  expect([answer.status, errorOf(answer)]).toEqual([400, expect.objectContaining({ message: words })])
  const { routing } = await service.end(answer)
  expect(routing?.attempts).toEqual([
    {
      routeId: `p0:${MODEL}`,
      outcome: 'provider_rejected_request',
      why: `The provider answered 422 (${service.upstreams[0]!.baseUrl}/chat/completions). It names stream_options. If this provider does not accept them, set streamUsage: false.`,
    },
  ])
})

it('a key that a provider spells unusually reaches neither the caller nor the host', async () => {
  const apiKey = 'sk-host-Zq81mVx0Tr55'
  const clock = createSteppedClock()
  service = await startService({ routes: [{ apiKey }], router: { clock } })
  const spelt = [...apiKey.toUpperCase()].join(' ')
  for (const status of [400, 401, 413, 422, 500]) {
    for (const message of [
      `You sent ${spelt}.`,
      `You sent ${[...apiKey].join('\u200b')}.`,
      `${apiKey.slice(5)}…`,
    ]) {
      for (const body of [{}, { stream: true }]) {
        service.upstreams[0]!.scriptOnce(refusal({ error: { message, param: spelt, code: apiKey } }, status))
        // A route that keeps failing is called again after this time.
        await clock.elapse(60_000)
        const answer = await service.ask(body)
        await service.end(answer)
        const told = JSON.stringify(service.events, (_, value) =>
          typeof value === 'bigint' ? `${value}` : value,
        )
        for (const text of [answer.text, told]) {
          expect(text.replace(/[^a-z0-9]/gi, '').toLowerCase()).not.toContain('zq81mvx0tr')
        }
      }
    }
  }
  await clock.elapse(60_000)
  service.upstreams[0]!.scriptOnce(answers('fine'))
  expect(contentOf(await service.ask())).toBe('fine')
})
