import { describe, expect, it } from 'vitest'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import type { RouterEvent } from '../../src/index.js'
import { chat } from '../../src/operations/chat/index.js'
import { FINISH, openEngine, streamedCall, streamedCallWith, TOKEN } from './one-call.js'

/** A client whose stream cannot be ended. */
function brokenWriter() {
  const did: string[] = []
  const writer: ReplyWriter = {
    left: false,
    onLeave: () => undefined,
    send: () => void did.push('send'),
    openStream: () => void did.push('openStream'),
    write: () => undefined,
    end() {
      did.push('end')
      throw new Error('It cannot be ended')
    },
    drop: () => void did.push('drop'),
  }
  return { did, writer }
}

function start() {
  const events: RouterEvent[] = []
  const engine = openEngine(
    {
      async chat(_call, take) {
        await take([TOKEN, FINISH])
        return { terminated: true }
      },
    },
    { onEvent: (event) => void events.push(event) },
  )
  return { engine, faults: () => events.filter(({ type }) => type === 'fault') }
}

describe('a fault in an open stream', () => {
  it('drops the client, which must neither wait for an end nor see a success', async () => {
    const { engine, faults } = start()
    const { did, writer } = brokenWriter()
    await engine.run(chat, streamedCall, writer)
    expect(did.slice(0, 4)).toEqual(['openStream', 'end', 'end', 'drop'])
    expect([engine.inFlight, engine.openHolds, faults().length]).toEqual([0, 0, 2])
    await engine.close({ graceMs: 0 })
  })

  it('also drops the client if the call has an Idempotency-Key', async () => {
    const { engine, faults } = start()
    const { did, writer } = brokenWriter()
    await engine.run(chat, streamedCallWith({ 'idempotency-key': 'k' }), writer)
    expect(did.slice(0, 3)).toEqual(['openStream', 'end', 'drop'])
    expect([engine.inFlight, engine.openHolds, faults().length]).toEqual([0, 0, 1])
    await engine.close({ graceMs: 0 })
  })
})
