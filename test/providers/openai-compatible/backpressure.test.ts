import { beforeEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../../src/contracts/providers.js'
import {
  finishChunk,
  type Script,
  type ScriptedUpstream,
  sse,
  textChunk,
} from '../../helpers/scripted-upstream.js'
import { openAdapter, runCall, textOf } from './run-call.js'

let upstream: ScriptedUpstream
let adapter: ProviderAdapter

beforeEach(async () => {
  const opened = await openAdapter()
  ;({ upstream, adapter } = opened)
  return opened.close
})

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Waits for a turn of the event loop, in which sockets are read. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function turns(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await turn()
}

const framings: Record<string, Readonly<Record<string, string>>> = {
  'a chunked body': {},
  'a body that ends with its connection': { connection: 'close' },
}

for (const [name, headers] of Object.entries(framings)) {
  describe(`${name}, read slowly,`, () => {
    it('is not read while a take is pending, so that the provider is held up', async () => {
      const piece = sse([textChunk('x'.repeat(1_000))]).repeat(50)
      const total = 32 * 1024 * 1024
      let sent = 0
      const script: Script = async (reply) => {
        reply.head(200, headers)
        while (sent < total) {
          await reply.write(piece)
          sent += piece.length
        }
        await reply.write('data: [DONE]\n\n')
        reply.end()
      }
      upstream.script(script)
      const blocked = deferred()
      const first = deferred()
      let taking = 0
      let received = 0
      const call = runCall(adapter, { sizes: { replyBytes: 2 * total } }, (events) => {
        expect(taking).toBe(0)
        for (const event of events) received += event.type === 'data' ? event.bytes.length : 0
        if (events.length === 0) return undefined
        first.resolve()
        taking++
        return blocked.promise.then(() => {
          taking--
        })
      })
      await first.promise
      const receivedAtFirst = received
      // Waits until the sender has been stuck for long. Only the buffers of both sockets fill up.
      let before = -1
      while (before !== sent) {
        before = sent
        await turns(2_000)
      }
      expect(sent).toBeLessThan(total)
      expect(received).toBe(receivedAtFirst)
      expect(received).toBeLessThan(512 * 1024)
      blocked.resolve()
      const { terminated, error } = await call
      expect(error).toBeUndefined()
      expect(terminated).toBe(true)
      expect(received).toBeGreaterThan(total * 0.95)
    })

    for (const ending of ['hang-up', 'reset'] as const) {
      it(`survives a ${ending} while a take is pending`, async () => {
        const second = deferred()
        const gone = deferred()
        const blocked = deferred()
        upstream.script([
          { head: 200, headers },
          { write: sse([textChunk('a')]) },
          { wait: second.promise },
          { write: sse([textChunk('b')]) },
          ending,
          { wait: Promise.resolve(gone.resolve()) },
        ])
        const call = runCall(adapter, {}, (events) => {
          if (events.length === 0) return undefined
          second.resolve()
          return blocked.promise
        })
        await second.promise
        await gone.promise
        await turns(50)
        blocked.resolve()
        const { error, terminated, events } = await call
        // A body that ends with its connection cannot be told from one that was cut off, so it is not terminated.
        if (headers.connection === 'close' && ending === 'hang-up') expect(terminated).toBe(false)
        else expect(error?.reason ?? terminated).toSatisfy((is) => is === 'cut-short' || is === false)
        expect(textOf(events)).toMatch(/^ab?$/)
      })
    }
  })
}

describe("an adapter's pending take", () => {
  it('holds up the end of the call', async () => {
    const blocked = deferred()
    const last = deferred()
    upstream.script([
      { head: 200 },
      { write: `${sse([textChunk('a'), finishChunk()])}data: [DONE]\n\n` },
      'end',
    ])
    let over = false
    const call = runCall(adapter, {}, (events) => {
      if (events.length === 0) return undefined
      last.resolve()
      return blocked.promise
    }).then((outcome) => {
      over = true
      return outcome
    })
    await last.promise
    await turns(50)
    expect(over).toBe(false)
    blocked.resolve()
    expect((await call).terminated).toBe(true)
  })

  it('leaves the connection usable', async () => {
    upstream.script([
      { head: 200 },
      { write: sse([textChunk('a')]) },
      { write: sse([textChunk('b')]) },
      { write: 'data: [DONE]\n\n' },
      'end',
    ])
    for (let call = 0; call < 20; call++) {
      const { events, terminated } = await runCall(adapter, {}, () => turn())
      expect([textOf(events), terminated]).toEqual(['ab', true])
    }
    expect(upstream.connections).toBeLessThanOrEqual(2)
  })
})
