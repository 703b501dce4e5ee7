import { afterEach, expect, it } from 'vitest'
import { anthropic } from '../../../src/index.js'
import { checkEvents, readEvents } from '../../helpers/message-events.js'
import { API_KEY, MODEL, WireService } from '../../wire/service.js'
import { frames, richStream } from '../../providers/anthropic/replies.js'

let service: WireService
afterEach(() => service.close())

it('native', async () => {
  service = await WireService.start({ adapter: (baseUrl) => anthropic({ baseUrl, apiKey: 'k' }) })
  service.upstream.script([{ head: 200, headers: { 'content-type': 'text/event-stream' } }, { write: frames(richStream) }, 'end'])
  const r = await service.host.request('/messages?beta=true', {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', 'anthropic-beta': 'x,claude-code-20250219' },
    body: JSON.stringify({ model: MODEL, max_tokens: 100, stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  })
  const text = await r.text()
  console.log(r.status, text)
  console.log(JSON.stringify(service.asked))
  console.log(JSON.stringify(checkEvents(readEvents(text)), null, 1))
})
