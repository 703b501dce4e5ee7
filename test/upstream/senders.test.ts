import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectionError } from '../../src/upstream/connection-error.js'
import * as byFetch from '../../src/upstream/fetch/index.js'
import type { Connection, Receiver, SenderModule } from '../../src/upstream/sender.js'
import * as byUndici from '../../src/upstream/undici/index.js'
import { createDeferred } from '../helpers/deferred.js'
import { tableUnder } from '../helpers/markdown.js'
import { type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'

let upstream: ScriptedUpstream
beforeEach(async () => {
  upstream = await startScriptedUpstream()
})
afterEach(() => upstream.close())

/** A longer text is only counted. */
const LONGEST_TEXT = 100_000

/** Records what becomes of one request. */
class Recorder implements Receiver {
  connection: Connection | undefined
  isSent = false
  status = 0
  readonly headers = new Map<string, string>()
  /** Its beginning. */
  text = ''
  length = 0
  error: Error | undefined
  readonly ended = createDeferred<void>()
  private readonly waiting = createDeferred<void>()

  constructor(private readonly wanted = '') {}

  /** Settles when the wanted text has arrived. */
  get arrived(): Promise<void> {
    return this.waiting.promise
  }

  onConnect(): void {
    this.isSent = true
    this.connection?.begin()
  }

  onHeaders(status: number, headers: Buffer[]): boolean {
    this.status = status
    for (let index = 0; index < headers.length; index += 2) {
      this.headers.set(headers[index]!.toString().toLowerCase(), headers[index + 1]!.toString())
    }
    return true
  }

  onData(bytes: Buffer): boolean {
    this.length += bytes.length
    if (this.length > LONGEST_TEXT) return true
    this.text += bytes.toString()
    if (this.text.includes(this.wanted)) this.waiting.resolve()
    return true
  }

  onComplete(): void {
    this.ended.resolve()
  }

  onError(error: Error): void {
    this.error = error
    this.ended.resolve()
  }
}

const SENDERS: [name: string, module: SenderModule][] = [
  ['undici', byUndici],
  ['fetch', byFetch],
]

describe.each(SENDERS)('the sender by %s', (_name, { abilities, openSender }) => {
  function send(origin: string, wanted?: string): Recorder {
    const recorder = new Recorder(wanted)
    const sender = openSender(origin, 5_000)
    sender.dispatch(
      {
        path: '/v1/chat',
        method: 'POST',
        headers: ['content-type', 'application/json', 'accept-encoding', 'identity'],
        body: '{"a":"é"}',
        headersTimeout: 0,
        bodyTimeout: 0,
        onConnection: (connection) => {
          recorder.connection = connection
        },
      },
      recorder,
    )
    void recorder.ended.promise.then(() => sender.close())
    return recorder
  }
  const originOf = () => new URL(upstream.baseUrl).origin

  it('posts the body, and passes on the status, the headers and each piece as it comes', async () => {
    const seen = createDeferred<void>()
    upstream.script([
      { head: 429, headers: { 'retry-after': '7' } },
      { write: 'first ' },
      { wait: seen.promise },
      { write: 'second' },
      'end',
    ])
    const got = send(originOf(), 'first')
    await got.arrived
    expect([got.status, got.headers.get('retry-after'), got.isSent]).toEqual([429, '7', true])
    seen.resolve()
    await got.ended.promise
    expect([got.text, got.error]).toEqual(['first second', undefined])
    expect(upstream.requests[0]).toMatchObject({ method: 'POST', path: '/v1/chat', body: { a: 'é' } })
  })

  it('follows no redirect', async () => {
    upstream.script([{ head: 302, headers: { location: '/elsewhere' } }, 'end'])
    const got = send(originOf())
    await got.ended.promise
    expect([got.status, got.headers.get('location'), upstream.requests.length]).toEqual([
      302,
      '/elsewhere',
      1,
    ])
  })

  it('holds the provider back until it is released, and then passes on the rest', async () => {
    const piece = 'x'.repeat(64_000)
    const pieces = 1_000
    let written = 0
    upstream.script(async (reply) => {
      reply.head(200)
      for (; written < pieces && reply.open; written++) await reply.write(piece)
      reply.end()
    })
    const got = send(originOf(), 'x')
    await got.arrived
    got.connection!.hold()
    let last = -1
    const stops = () => {
      const isStopped = written === last
      last = written
      return isStopped
    }
    await expect.poll(stops, { interval: 300 }).toBe(true)
    expect(written).toBeLessThan(pieces)
    got.connection!.release()
    await got.ended.promise
    expect(got.length).toBe(pieces * piece.length)
  })

  it.each([
    ['before the head', ['stall' as const]],
    ['during the body', [{ head: 200 }, { write: 'first' }, 'stall' as const]],
  ])('closes the connection if the call is dropped %s', async (_when, script) => {
    const asked = upstream.nextRequest()
    upstream.script(script)
    const got = send(originOf(), 'first')
    const { closed } = await asked
    if (script.length > 1) await got.arrived
    got.connection!.drop(new Error('No longer needed.'))
    await closed
    await got.ended.promise
    expect(got.error).toBeInstanceOf(Error)
  })

  it('says that nobody was reached if nobody listens', async () => {
    const origin = originOf()
    await upstream.close()
    const got = send(origin)
    await got.ended.promise
    expect(connectionError(got.error, got.isSent).reason).toBe('unreachable')
    upstream = await startScriptedUpstream()
  })

  it('says that a reply was cut short', async () => {
    upstream.script([{ head: 200, headers: { 'content-length': '100' } }, { write: 'first' }, 'hang-up'])
    const got = send(originOf())
    await got.ended.promise
    expect(connectionError(got.error, got.isSent).reason).toBe('cut-short')
  })

  it('passes on a compressed body as it is with its encoding, or decoded and without it', async () => {
    const sent = gzipSync('plain words')
    upstream.script([{ head: 200, headers: { 'content-encoding': 'gzip' } }, { write: sent }, 'end'])
    const got = send(originOf())
    await got.ended.promise
    const encoding = got.headers.get('content-encoding')
    if (abilities.passesOnCompressed) expect([encoding, got.text]).toEqual(['gzip', sent.toString()])
    else expect([encoding, got.text]).toEqual([undefined, 'plain words'])
  })

  it('takes the longest head that it says, and no longer one', async () => {
    const { headerBytes } = abilities
    if (headerBytes === undefined) return
    for (const [length, status] of [
      [headerBytes - 1_000, 200],
      [headerBytes + 1_000, 0],
    ] as const) {
      upstream.script([{ head: 200, headers: { 'x-long': 'x'.repeat(length) } }, 'end'])
      const got = send(originOf())
      await got.ended.promise
      expect(got.status).toBe(status)
    }
  })
})

describe('the table of the documents', () => {
  it('says what each sender does', async () => {
    const page = await readFile(fileURLToPath(new URL('../../docs/adapters.md', import.meta.url)), 'utf8')
    const rows = tableUnder(page, 'Connections and an egress proxy')
    const says = (column: number) => rows.map((cells) => cells[column]!)
    const words = ({ abilities }: SenderModule) => [
      abilities.limitsConnecting ? /^applies/ : /^does not/,
      abilities.sendsAgain ? /sent again/ : /^the next route/,
      abilities.headerBytes === undefined ? /runtime/ : new RegExp(`^${abilities.headerBytes / 1024} KiB`),
      abilities.passesOnCompressed ? /reported/ : /by the runtime/,
      abilities.skipsContinue ? /^is skipped/ : /runtime/,
    ]
    for (const [index, [, module]] of SENDERS.entries()) {
      expect(says(index + 1)).toEqual(words(module).map((word) => expect.stringMatching(word)))
    }
  })
})
