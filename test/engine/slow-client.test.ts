import { expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { chat } from '../../src/operations/chat/index.js'
import { turns } from '../helpers/stepped-clock.js'
import { FINISH, openEngine, streamedCall, TOKEN } from './one-call.js'

/**
 * One streamed call that is answered in `reads`, for a client that accepts its bytes when `drained` settles.
 */
function stream(reads: readonly ProviderEvent[][], drained: Promise<void>) {
  const seen: string[] = []
  const writer: ReplyWriter = {
    left: false,
    onLeave() {},
    send() {},
    openStream() {},
    write() {
      seen.push('write')
      return drained
    },
    end(bytes) {
      seen.push(String(bytes).endsWith('data: [DONE]\n\n') ? 'done' : 'end')
    },
    drop() {},
  }
  const engine = openEngine({
    async chat(_call, take) {
      for (const [place, events] of reads.entries()) {
        await take(events)
        seen.push(`read ${place + 1}`)
      }
      return { terminated: true }
    },
  })
  return { seen, over: engine.run(chat, streamedCall, writer), close: () => engine.close() }
}

it('a slow client gets the end of a stream with its last text, even if it reads nothing', async () => {
  const { seen, over, close } = stream([[TOKEN, FINISH]], new Promise(() => {}))
  await over
  expect(seen).toEqual(['write', 'read 1', 'done'])
  await close()
})

it('a slow client stops the reading of a stream until it has accepted the last bytes', async () => {
  let drain = (): void => {}
  const drained = new Promise<void>((resolve) => {
    drain = resolve
  })
  const { seen, over, close } = stream([[TOKEN], [TOKEN, FINISH]], drained)
  await turns(50)
  expect(seen).toEqual(['write'])
  drain()
  await over
  expect(seen).toEqual(['write', 'read 1', 'write', 'read 2', 'done'])
  await close()
})
