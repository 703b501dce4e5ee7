import { createHash } from 'node:crypto'
import type { IdempotencyState, StoredReply } from '../contracts/idempotency.js'
import type { IncomingCall, ReplyWriter } from '../contracts/reply.js'
import { CompatError } from '../errors.js'
import type { ParsedChatRequest } from '../protocol/chat-request.js'
import { asCompatError } from '../protocol/error-body.js'
import { wireUsage } from '../protocol/wire-usage.js'
import type { Caller } from './authenticate.js'
import type { CallLog } from './call-log.js'
import { canonicalJson } from './canonical-json.js'
import { eventError } from './event-error.js'
import type { EngineOptions } from './options.js'
import { Recording } from './recording.js'
import { askStore } from './stores.js'
import { LazyContext, within } from './within.js'

/** Runs a call into a writer; `claim` goes with its hold. */
type Run = (claim: string | undefined, writer: ReplyWriter) => Promise<void>

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/
const REPLAY_HEADERS = Object.freeze({ 'x-should-retry': 'false' })
const SPARE_LEASE_MS = 60_000

/**
 * Sees to it that calls with one `Idempotency-Key` are one call. In this process a repeat follows the running call; for
 * the rest there is the store of replies, and behind it the ledger, which gives a claim to one hold only.
 */
export class Idempotency {
  private readonly running = new Map<string, Recording>()

  constructor(private readonly options: EngineOptions) {}

  async once(
    call: IncomingCall,
    caller: Caller,
    request: ParsedChatRequest,
    writer: ReplyWriter,
    log: CallLog,
    run: Run,
  ): Promise<void> {
    const key = idempotencyKey(call)
    if (key === undefined) return run(undefined, writer)
    const claim = scopeOf(caller, key)
    const digest = digestOf(request)

    const running = this.running.get(claim)
    if (running !== undefined) {
      if (running.digest !== digest) throw mismatch()
      log.replayed = true
      return running.follow(writer, true)
    }
    const recording = new Recording(digest)
    this.running.set(claim, recording)
    const mine = await this.begin(claim, caller, recording, call.requestId, log)
    log.replayed = !mine
    const followed = recording.follow(writer, !mine)
    if (mine) await this.record(claim, recording, call.requestId, log, run)
    await followed
  }

  /** Takes the claim. Where another has it, the recording becomes what can be told of that one's reply. */
  private async begin(
    claim: string,
    caller: Caller,
    recording: Recording,
    requestId: string,
    log: CallLog,
  ): Promise<boolean> {
    try {
      const state = await this.claim(claim, caller, recording.digest, requestId)
      if (state.state === 'mine') return true
      replay(state, recording)
    } catch (error) {
      fail(recording, log, error)
    }
    this.running.delete(claim)
    return false
  }

  private async record(
    claim: string,
    recording: Recording,
    requestId: string,
    log: CallLog,
    run: Run,
  ): Promise<void> {
    try {
      await run(claim, recording)
    } catch (error) {
      fail(recording, log, error)
    } finally {
      await this.keep(claim, recording, requestId, log)
      this.running.delete(claim)
    }
  }

  /** A reply is kept only where something was charged for it; else the key is free again. */
  private async keep(claim: string, recording: Recording, requestId: string, log: CallLog): Promise<void> {
    const { clock, idempotency, limits } = this.options
    const { store, ttlMs, keepBodies } = idempotency
    const context = new LazyContext(requestId)
    try {
      if (log.charge === undefined) {
        await within(clock, limits.storeMs, store.abandon(claim, context))
        return
      }
      const { mode, bytes, status } = recording.stored ?? { mode: 'json' as const }
      const reply: StoredReply = {
        mode,
        charge: log.charge,
        ...(status !== undefined && { status }),
        ...(keepBodies && bytes !== undefined && { bytes }),
      }
      await within(clock, limits.storeMs, store.complete(claim, reply, ttlMs, context))
    } catch (error) {
      context.end()
      this.options.emit({ type: 'store-fault', store: 'idempotency', requestId, error: eventError(error) })
    }
  }

  private claim(claim: string, caller: Caller, digest: string, requestId: string): Promise<IdempotencyState> {
    const { idempotency, limits } = this.options
    const leaseMs = limits.totalMs + limits.drainMs + limits.settleMs + SPARE_LEASE_MS
    const { account } = caller.principal
    return askStore('idempotency', this.options, requestId, () =>
      idempotency.store.claim({ claim, account, digest, leaseMs }, new LazyContext(requestId)),
    )
  }
}

function idempotencyKey(call: IncomingCall): string | undefined {
  const key = call.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && VISIBLE_ASCII.test(key)) return key
  throw new CompatError(
    'invalid_request',
    'The header Idempotency-Key must be 1 to 255 visible ASCII characters.',
    {
      param: 'Idempotency-Key',
    },
  )
}

function scopeOf({ principal }: Caller, key: string): string {
  const app = principal.kind === 'access-token' ? principal.app.id : null
  return sha256(JSON.stringify([principal.account, app, principal.credentialId, key]))
}

/** Covers everything that changes the answer. */
function digestOf({ forward, own }: ParsedChatRequest): string {
  return sha256(canonicalJson({ forward, own }))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function replay(state: Exclude<IdempotencyState, { state: 'mine' }>, writer: ReplyWriter): void {
  switch (state.state) {
    case 'mismatch':
      throw mismatch()
    case 'done':
      sendStored(state.reply, writer)
      return
    default:
      throw inFlight()
  }
}

function sendStored({ mode, bytes, status, charge }: StoredReply, writer: ReplyWriter): void {
  if (bytes === undefined) {
    throw new CompatError(
      'idempotency_completed',
      'A call with this Idempotency-Key was completed and charged; its reply is not kept.',
      { metadata: { usage: wireUsage(charge) } },
    )
  }
  if (mode === 'json') {
    writer.send(
      status ?? 200,
      { ...REPLAY_HEADERS, 'content-type': 'application/json; charset=utf-8' },
      bytes,
    )
    return
  }
  writer.openStream(REPLAY_HEADERS)
  void writer.write(bytes)
  writer.end()
}

function fail(recording: Recording, log: CallLog, error: unknown): void {
  const refusal = asCompatError(error)
  log.failed(refusal.code, refusal.status)
  recording.fail(refusal)
}

function mismatch(): CompatError {
  return new CompatError('idempotency_mismatch', 'This Idempotency-Key was used with another request body.')
}

function inFlight(): CompatError {
  return new CompatError('idempotency_in_flight', 'A call with this Idempotency-Key is still running.')
}
