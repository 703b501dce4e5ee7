import { afterEach, expect, test } from 'vitest'
import { hosts } from '../helpers/hosts.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { MODEL, providerReply, UPSTREAM_MODEL, WireService } from './service.js'

const MESSAGES = `[ {"role": "system",\n"content":"Be \\u0062rief, 漢字."},\t{"role":"user","content":"${'The quick \\"brown\\" fox.\\n'.repeat(2_000)}"} ]`
const BODY = `{"stream":false, "messages" : ${MESSAGES},"session_id":"s1","model":"${MODEL}","temperature":0.5}`
const ASKED = { messages: JSON.parse(MESSAGES), model: UPSTREAM_MODEL, temperature: 0.5 }

let service: WireService
afterEach(() => service.close())

test('a long prompt reaches a provider as its client wrote it', async () => {
  service = await WireService.start()
  service.upstream.script(answerJson(providerReply()))
  expect((await service.post(BODY)).status).toBe(200)
  expect(service.asked).toHaveLength(1)
  expect(service.asked[0]!.body).toEqual(ASKED)
  expect(service.asked[0]!.text).toContain(`"messages":${MESSAGES}}`)
})

test('a long prompt is the same for the next provider if the first one fails', async () => {
  service = await WireService.start({ providers: 2 })
  service.upstreams[0]!.script(answerJson({ error: { message: 'down' } }, 503))
  service.upstreams[1]!.script(answerJson(providerReply()))
  expect((await service.post(BODY)).status).toBe(200)
  expect(service.asked.map(({ body }) => body)).toEqual([ASKED, ASKED])
})

test.each(hosts)('a long prompt is the same if $name has read the body', async (host) => {
  service = await WireService.start({ host })
  service.upstream.script(answerJson(providerReply()))
  expect((await service.post(BODY)).status).toBe(200)
  expect(service.asked.map(({ body }) => body)).toEqual([ASKED])
})
