import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CompatError } from '../../src/base/errors.js'
import { MemoryBudget } from '../../src/base/memory-budget.js'
import type { ReplyBytes, ReplyWriter, WholeReply } from '../../src/contracts/reply.js'
import { Recording } from '../../src/engine/idempotency/recording.js'
import { RecordingBudget, type Reservation } from '../../src/engine/idempotency/recording-budget.js'
import { OPENAI_ERRORS } from '../../src/protocol/error-body.js'
import { asWire } from '../../src/protocol/wire-bytes.js'
import { createSteppedClock, turns } from '../helpers/stepped-clock.js'

const STALL_MS = 1_000
const MIB = 1_024 * 1_024

/** A client that accepts as much as the test wants. */
class FakeClient implements ReplyWriter {
  left = false
  blocked = false
  text = ''
  whole: { status: number; headers: Readonly<Record<string, string>>; body: string } | undefined
  headers: Readonly<Record<string, string>> | undefined
  ended = false
  dropped = false
  writes = 0
  private listener: () => void = () => undefined
  private go: () => void = () => undefined
  private waiting: Promise<void> | undefined

  onLeave(listener: () => void): void {
    this.listener = listener
  }
  send(status: number, headers: Readonly<Record<string, string>>, bytes: WholeReply): void {
    this.whole = { status, headers, body: [bytes].flat().join('') }
    this.ended = true
  }
  openStream(headers: Readonly<Record<string, string>>): void {
    this.headers = headers
  }
  write(bytes: string): void | Promise<void> {
    if (this.left) return
    this.writes++
    this.text += bytes
    if (!this.blocked) return
    this.waiting ??= new Promise((resolve) => {
      this.go = resolve
    })
    return this.waiting
  }
  end(bytes: ReplyBytes): void {
    if (this.left) return
    this.text += [...bytes].join('')
    this.ended = true
  }
  drop(): void {
    this.dropped = true
    this.leave()
  }
  /** Accepts the written bytes. The next write may block again. */
  take(): void {
    this.waiting = undefined
    this.go()
  }
  leave(): void {
    if (this.left) return
    this.left = true
    this.take()
    this.listener()
  }
}

function start(reservation: Reservation = new RecordingBudget(new MemoryBudget(Infinity)).open('alice')) {
  const clock = createSteppedClock()
  const recording = new Recording({
    digest: 'd',
    errors: OPENAI_ERRORS,
    clock,
    clientStallMs: STALL_MS,
    reservation,
    result: () => ({ outcome: 'completed', status: 200 }),
  })
  const follow = (client: FakeClient, joined = true) => {
    const state = { over: false, fault: undefined as unknown }
    recording.follow(client, joined).then(
      () => {
        state.over = true
      },
      (error: unknown) => {
        state.fault = error
      },
    )
    return state
  }
  const retained = () => (recording as unknown as { pieces: { retainedBytes: number } }).pieces.retainedBytes
  return { clock, recording, follow, retained }
}

/** Room for so many bytes. */
function roomFor(most: number): Reservation {
  let taken = 0
  return {
    grow: (bytes) => {
      if (taken + bytes > most) return false
      taken += bytes
      return true
    },
    free: () => undefined,
  }
}

describe('a recording of a reply', () => {
  it('lets each client follow at its own pace', async () => {
    const { recording, follow } = start()
    const [slow, fast] = [new FakeClient(), new FakeClient()]
    slow.blocked = true
    const [slowState, fastState] = [follow(slow, false), follow(fast)]
    recording.openStream({ 'x-should-retry': 'false' })
    for (const piece of ['one ', 'two ']) expect(recording.write(asWire(piece))).toBeUndefined()
    recording.end(asWire('three'))
    await turns(1)
    expect([fast.text, fast.ended, fastState.over]).toEqual(['one two three', true, true])
    expect([slow.text, slow.ended, slowState.over]).toEqual(['one ', false, false])
    slow.blocked = false
    slow.take()
    await turns(1)
    expect([slow.text, slow.ended, slowState.over]).toEqual(['one two three', true, true])
    expect(slow.headers).toEqual({ 'x-should-retry': 'false' })
    expect(fast.headers).toEqual({ 'x-should-retry': 'false', 'idempotent-replayed': 'true' })
  })

  it('sends everything so far to a client that joins late, in a few writes', async () => {
    const { recording, follow } = start()
    recording.openStream({})
    for (let piece = 0; piece < 1_000; piece++) recording.write(asWire(`${piece} `))
    const late = new FakeClient()
    follow(late)
    expect(late.writes).toBe(1)
    recording.write(asWire('end'))
    recording.end(asWire(''))
    expect(late.text).toBe(`${Array.from({ length: 1_000 }, (_, piece) => `${piece} `).join('')}end`)
  })

  it('drops only the follower that stops reading for too long', async () => {
    const { clock, recording, follow } = start()
    const [stuck, other] = [new FakeClient(), new FakeClient()]
    stuck.blocked = true
    const state = follow(stuck)
    follow(other)
    recording.openStream({})
    recording.write(asWire('text'))
    await clock.elapse(STALL_MS - 1)
    expect(stuck.dropped).toBe(false)
    await clock.elapse(1)
    expect([stuck.dropped, state.over, other.dropped]).toEqual([true, true, false])
    recording.end(asWire(''))
    expect(other.ended).toBe(true)
    expect(clock.pending).toBe(0)
  })

  it('keeps a follower that reads a little at a time', async () => {
    const { clock, recording, follow } = start()
    const slow = new FakeClient()
    slow.blocked = true
    follow(slow)
    recording.openStream({})
    for (let piece = 0; piece < 5; piece++) {
      recording.write(asWire('x'.repeat(64 * 1_024)))
      await clock.elapse(STALL_MS - 1)
      slow.take()
      await turns(1)
    }
    expect([slow.dropped, slow.text.length]).toEqual([false, 5 * 64 * 1_024])
    slow.leave()
    expect(clock.pending).toBe(0)
  })

  it('reports each time that the last follower has left', () => {
    const { recording, follow } = start()
    let left = 0
    recording.onLeave(() => left++)
    const [one, two] = [new FakeClient(), new FakeClient()]
    follow(one)
    follow(two)
    one.leave()
    expect([recording.left, left]).toEqual([false, 0])
    two.leave()
    expect([recording.left, left]).toEqual([true, 1])
    const back = new FakeClient()
    follow(back)
    expect(recording.left).toBe(false)
    back.leave()
    expect(left).toBe(2)
  })

  it('does not report a follower that leaves after the end', () => {
    const { recording, follow } = start()
    let left = 0
    recording.onLeave(() => left++)
    const client = new FakeClient()
    client.blocked = true
    follow(client)
    recording.openStream({})
    recording.write(asWire('text'))
    recording.end(asWire(''))
    client.leave()
    expect(left).toBe(0)
  })

  it('counts a client that had already left as one that leaves', () => {
    const { recording, follow } = start()
    let left = 0
    recording.onLeave(() => left++)
    const gone = new FakeClient()
    gone.left = true
    follow(gone)
    expect([recording.left, left]).toEqual([true, 1])
  })

  it('sends everything at once when told to hurry, and then waits for nobody', async () => {
    const { clock, recording, follow } = start()
    const stuck = new FakeClient()
    stuck.blocked = true
    const state = follow(stuck)
    recording.openStream({})
    recording.write(asWire('one '))
    recording.write(asWire('two '))
    expect(stuck.text).toBe('one ')
    recording.hurry()
    recording.write(asWire('three'))
    recording.end(asWire(''))
    await turns(1)
    expect([stuck.text, stuck.ended, state.over]).toEqual(['one two three', true, true])
    expect(clock.pending).toBe(0)
  })

  it('continues for the others if one client cannot be written to', async () => {
    const { recording, follow } = start()
    const [bad, good] = [new FakeClient(), new FakeClient()]
    bad.write = () => {
      throw new Error('no socket')
    }
    const state = follow(bad)
    follow(good)
    recording.openStream({})
    recording.write(asWire('text'))
    recording.end(asWire(''))
    await turns(1)
    expect(state.fault).toMatchObject({ message: 'no socket' })
    expect([good.text, good.ended]).toEqual(['text', true])
  })

  it('gives everyone the error of an uncharged call, without a replay mark', () => {
    const { recording, follow } = start()
    const [one, two] = [new FakeClient(), new FakeClient()]
    follow(one, false)
    follow(two)
    recording.fail(new CompatError('provider_overloaded', 'later'))
    expect(one.whole).toEqual(two.whole)
    expect(two.whole?.headers['idempotent-replayed']).toBeUndefined()
    expect(recording.reply).toBeUndefined()
  })

  it('drops clients that have part of a stream when it fails, so that it does not look successful', async () => {
    const { recording, follow } = start()
    const open = new FakeClient()
    const followed = follow(open)
    recording.openStream({})
    recording.write(asWire('a part'))
    recording.fail(new CompatError('internal_error', 'broken'))
    await turns(1)
    expect([open.text, open.whole, open.ended, open.dropped]).toEqual(['a part', undefined, false, true])
    expect(followed.over).toBe(true)
  })

  it('drops a client whose stream can no longer be written to, says why, and reports to the call that it left', async () => {
    const { recording, follow } = start()
    const client = new FakeClient()
    client.write = () => {
      throw new Error('broken')
    }
    let left = 0
    recording.onLeave(() => left++)
    const followed = follow(client)
    recording.openStream({})
    recording.write(asWire('a part'))
    await turns(1)
    expect([client.dropped, followed.fault, left]).toEqual([true, new Error('broken'), 1])
  })

  it('drops clients that wait for a reply without an end', async () => {
    const { recording, follow } = start()
    const client = new FakeClient()
    const followed = follow(client)
    recording.retire()
    await turns(1)
    expect([client.dropped, followed.over]).toEqual([true, true])
  })
})

describe('a recorded reply that exceeds the memory limit', () => {
  it('waits for its followers, accepts no new one, and uses no more memory', async () => {
    const { recording, follow, retained } = start(roomFor(100))
    const [slow, fast] = [new FakeClient(), new FakeClient()]
    slow.blocked = true
    follow(slow)
    follow(fast)
    recording.openStream({})
    expect(recording.write(asWire('a'.repeat(50)))).toBeUndefined()
    expect(recording.write(asWire('b'.repeat(50)))).toBeUndefined()
    expect(recording.write(asWire('c'.repeat(50)))).toBeUndefined()
    const waiting = recording.write(asWire('d'.repeat(50)))
    let through = false
    void waiting?.then(() => {
      through = true
    })
    await turns(1)
    expect([through, retained()]).toEqual([false, 150])
    expect(() => recording.follow(new FakeClient(), true)).toThrow('too large to be followed')
    expect(fast.text).toHaveLength(200)
    slow.take()
    await turns(1)
    expect([through, slow.text.length, retained()]).toEqual([true, 200, 0])
    slow.blocked = false
    slow.take()
    recording.end(asWire(''))
    await turns(1)
    expect([slow.ended, fast.ended, recording.reply]).toEqual([true, true, undefined])
  })

  it.each(['leaves', 'is dropped by the call', 'takes nothing for too long'])(
    'continues when the slow follower %s',
    async (how) => {
      const { clock, recording, follow, retained } = start(roomFor(0))
      const [slow, fast] = [new FakeClient(), new FakeClient()]
      slow.blocked = true
      follow(slow)
      follow(fast)
      recording.openStream({})
      recording.write(asWire('a'))
      const waiting = recording.write(asWire('b'))
      expect(waiting).toBeInstanceOf(Promise)
      if (how === 'leaves') slow.leave()
      else if (how === 'is dropped by the call') recording.drop()
      else await clock.elapse(STALL_MS)
      await waiting
      expect([slow.left, fast.left, fast.text, retained()]).toEqual([true, false, 'ab', 0])
      expect(clock.pending).toBe(0)
    },
  )

  it('uses no memory if nobody follows', () => {
    const { recording, retained } = start(roomFor(10))
    recording.openStream({})
    for (let piece = 0; piece < 100; piece++) {
      expect(recording.write(asWire('x'.repeat(10)))).toBeUndefined()
      expect(retained()).toBeLessThanOrEqual(10)
    }
    recording.end(asWire('the last of it'))
    expect(retained()).toBe(0)
    expect(recording.reply).toBeUndefined()
    expect(() => recording.follow(new FakeClient(), true)).toThrow('too large to be followed')
  })

  it('arrives complete at its followers if it is JSON', () => {
    const { recording, follow } = start(roomFor(1))
    const client = new FakeClient()
    follow(client)
    recording.send(200, {}, asWire('{"large":true}'))
    expect(client.whole?.body).toBe('{"large":true}')
    expect(recording.reply).toBeUndefined()
    expect(() => recording.follow(new FakeClient(), true)).toThrow('too large to be followed')
  })
})

describe('the memory for recordings of running replies', () => {
  it('is 4 MiB for one reply, a tenth of 64 MiB for an account and 64 MiB in total', () => {
    const budget = new RecordingBudget(new MemoryBudget(Infinity))
    const one = budget.open('alice')
    expect([one.grow(4 * MIB), one.grow(1)]).toEqual([true, false])
    const two = budget.open('alice')
    expect([two.grow(2.4 * MIB), two.grow(MIB)]).toEqual([true, false])
    for (let number = 0; number < 14; number++) {
      expect(budget.open(`account-${number}`).grow(4 * MIB)).toBe(true)
    }
    expect(budget.open('last').grow(2 * MIB)).toBe(false)
    one.free()
    one.free()
    expect(budget.open('last').grow(2 * MIB)).toBe(true)
    // Releasing twice frees no more than was taken.
    expect([budget.open('alice').grow(3.5 * MIB), budget.open('alice').grow(MIB)]).toEqual([true, false])
  })

  it('is released when the call is over and its last follower has left', () => {
    let freed = 0
    const { recording, follow } = start({ grow: () => true, free: () => freed++ })
    const client = new FakeClient()
    client.blocked = true
    follow(client)
    recording.openStream({})
    recording.write(asWire('text'))
    recording.write(asWire('text'))
    recording.end(asWire(''))
    recording.retire()
    expect(freed).toBe(0)
    client.leave()
    expect(freed).toBe(1)
  })
})

describe('in any order of events in a recording', () => {
  const actions = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('write' as const), bytes: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ do: fc.constant('join' as const) }),
      fc.record({ do: fc.constantFrom('block', 'unblock', 'take', 'leave'), who: fc.nat(5) }),
    ),
    { maxLength: 60 },
  )

  it('each follower that stays reads the whole reply, and memory is bounded', async () => {
    await fc.assert(
      fc.asyncProperty(actions, fc.integer({ min: 0, max: 300 }), async (steps, most) => {
        const { clock, recording, follow, retained } = start(roomFor(most))
        const clients: FakeClient[] = []
        recording.openStream({})
        let written = ''
        let blockedWrite: Promise<void> | undefined
        for (const step of steps) {
          switch (step.do) {
            case 'write': {
              // A call writes no more before its last write has been accepted.
              if (blockedWrite !== undefined) break
              const piece = String.fromCharCode(97 + (written.length % 26)).repeat(
                (step as { bytes: number }).bytes,
              )
              written += piece
              const waiting = recording.write(asWire(piece))
              if (waiting !== undefined) {
                blockedWrite = waiting
                void waiting.then(() => {
                  blockedWrite = undefined
                })
              }
              break
            }
            case 'join': {
              const client = new FakeClient()
              try {
                follow(client)
                clients.push(client)
              } catch {
                expect(written.length).toBeGreaterThan(most)
              }
              break
            }
            default: {
              const client = clients[(step as { who: number }).who]
              if (client === undefined) break
              if (step.do === 'leave') client.leave()
              else if (step.do === 'take') client.take()
              else client.blocked = step.do === 'block'
            }
          }
          await turns(1)
          if (blockedWrite === undefined) expect(retained()).toBeLessThanOrEqual(most)
        }
        for (const client of clients) {
          client.blocked = false
          client.take()
        }
        await turns(2)
        recording.end(asWire(''))
        for (const client of clients.filter(({ left }) => !left)) {
          expect([client.text, client.ended]).toEqual([written, true])
        }
        for (const client of clients) expect(written.startsWith(client.text)).toBe(true)
        if (written.length <= most) expect(recording.reply?.bytes).toBe(written)
        else expect(recording.reply).toBeUndefined()
        expect(clock.pending).toBe(0)
      }),
      { numRuns: 200, seed: 20_261_121 },
    )
  })
})
