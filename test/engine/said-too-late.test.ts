import { expect, it } from 'vitest'
import { chat } from '../../src/operations/chat/index.js'
import { choiceEvent, FINISH, openEngine, streamedCall } from './one-call.js'

it('a stream sends nothing of the events that an adapter returns together with the one that cut its reply off', async () => {
  const engine = openEngine(
    {
      async chat(_call, take) {
        void take([choiceEvent({ content: 'x'.repeat(400) })])
        void take([choiceEvent({ content: 'more' }), FINISH])
        return { terminated: true }
      },
    },
    { neverOverdraw: true, contextLength: 12, charging: { holdOutputTokens: 5 } },
  )
  let sent = ''
  await engine.run(chat, streamedCall, {
    left: false,
    onLeave: () => undefined,
    send: (status) => expect.fail(`It was answered with ${status}`),
    openStream: () => undefined,
    write(bytes) {
      sent += bytes
    },
    end(bytes) {
      sent += bytes
    },
    drop: () => expect.fail('The client was dropped'),
  })
  expect(sent).toContain('xxx')
  expect(sent).not.toContain('more')
  expect(sent.match(/"finish_reason":"\w+"/g)).toEqual(['"finish_reason":"length"'])
  expect(sent.endsWith('data: [DONE]\n\n')).toBe(true)
  await engine.close({ graceMs: 0 })
})
