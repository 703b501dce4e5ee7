import { createHash } from 'node:crypto'
import { isCompatError } from '../../base/errors.js'
import type { MemoryBudget } from '../../base/memory-budget.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { IdempotencyState, StoredReply } from '../../contracts/idempotency.js'
import type { IncomingCall, ReplyWriter } from '../../contracts/reply.js'
import { asCompatError, type ErrorStyle, OPENAI_ERRORS } from '../../protocol/error-body.js'
import { JSON_TYPE } from '../../protocol/media-types.js'
import { toWire } from '../../protocol/wire-bytes.js'
import type { Caller } from '../admission/authenticate.js'
import type { InFlight } from '../admission/in-flight.js'
import { LazyContext } from '../asking/lazy-context.js'
import { askStore } from '../asking/stores.js'
import { within } from '../asking/within.js'
import type { CallLog } from '../events/call-log.js'
import { eventError } from '../events/event-error.js'
import { badKey, callCompleted, callInFlight, otherBody } from '../failures/claims.js'
import { faultyStore } from '../failures/store-failures.js'
import { Recording } from './recording.js'
import { RecordingBudget } from './recording-budget.js'

/** Runs a call into a writer. `claim` is passed on with its hold. */
type Run = (claim: string | undefined, writer: ReplyWriter) => Awaitable<void>

/** A request with an `Idempotency-Key`. */
export interface KeyedRequest {
  readonly key: string
  readonly caller: Caller
  /** The digest of everything in the request that can change the reply. */
  readonly digest: string
  readonly errors: ErrorStyle | undefined
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/
const REPLAY_HEADERS = Object.freeze({ 'x-should-retry': 'false' })
const JSON_HEADERS = Object.freeze({ ...REPLAY_HEADERS, 'content-type': JSON_TYPE })
const SPARE_LEASE_MS = 60_000

/**
 * Makes repeated calls with one `Idempotency-Key` a single call. In this process, a repeat follows the running call.
 * Across processes, the store of replies decides, and behind it the ledger, which gives a claim to one hold only.
 */
export class Idempotency {
  private readonly running = new Map<string, Recording>()
  private readonly budget: RecordingBudget

  constructor(
    private readonly parts: {
      readonly inFlight: InFlight
      readonly memory: MemoryBudget
      readonly options: EngineOptions
    },
  ) {
    this.budget = new RecordingBudget(parts.memory)
  }

  /** Runs a call once for its key. Repeats get the recorded reply. */
  async once(request: KeyedRequest, writer: ReplyWriter, log: CallLog, run: Run): Promise<void> {
    const { key, caller, digest, errors = OPENAI_ERRORS } = request
    const claim = scopeOf(caller, key)
    // Nothing has been started yet, and the client has left.
    if (writer.left) return

    // A reply that one call writes could not be another's: there, a repeat is refused, as in another process.
    const running = this.parts.options.isolatesCalls ? undefined : this.running.get(claim)
    if (running !== undefined) {
      if (running.digest !== digest) throw otherBody()
      await this.follow(running, writer, true)
      log.replayed = running.replays
      const { outcome, status } = running.result ?? log
      log.failed(outcome, status)
      return
    }
    const { account } = caller.principal
    const recording = this.record(digest, account, log, errors)
    this.running.set(claim, recording)
    const [followed, answered] = await Promise.allSettled([
      this.follow(recording, writer, false),
      this.answer(claim, account, recording, log, run),
    ])
    if (followed.status === 'rejected') throw followed.reason
    if (answered.status === 'rejected') throw answered.reason
  }

  private record(digest: string, account: string, log: CallLog, errors: ErrorStyle): Recording {
    const { clock, timeouts } = this.parts.options
    return new Recording({
      digest,
      errors,
      clock,
      clientStallMs: timeouts.clientStallMs,
      reservation: this.budget.open(account),
      result: () => ({ outcome: log.outcome, status: log.status }),
    })
  }

  /** Stops waiting for slow clients once the router is told to stop. */
  private async follow(recording: Recording, writer: ReplyWriter, joined: boolean): Promise<void> {
    const { inFlight } = this.parts
    const live = { slot: -1, shutDown: () => recording.hurry() }
    inFlight.add(live)
    try {
      await recording.follow(writer, joined)
    } finally {
      inFlight.remove(live)
    }
  }

  /** Fills a recording with the reply of the call, or with the answer for a claim that another call holds. */
  private async answer(
    claim: string,
    account: string,
    recording: Recording,
    log: CallLog,
    run: Run,
  ): Promise<void> {
    let mine = false
    try {
      try {
        const state = await this.claim(claim, account, recording.digest, log.requestId)
        mine = state?.state === 'mine'
        if (mine) await run(claim, recording)
        else this.replay(state, recording, log)
      } catch (error) {
        this.fail(recording, log, error)
      }
      if (mine) await this.keep(claim, recording, log)
    } finally {
      this.running.delete(claim)
      recording.retire()
    }
  }

  private async claim(
    claim: string,
    account: string,
    digest: string,
    requestId: string,
  ): Promise<IdempotencyState> {
    const { idempotency, timeouts } = this.parts.options
    const leaseMs = timeouts.totalMs + timeouts.settleMs + SPARE_LEASE_MS
    const context = new LazyContext(requestId)
    let answer: Promise<IdempotencyState> | undefined
    try {
      return await askStore('idempotency', this.parts.options, context, () => {
        answer = idempotency.store.claim({ claim, account, digest, leaseMs }, context)
        return answer
      })
    } catch (error) {
      context.end()
      void this.giveBack(claim, answer)
      throw error
    }
  }

  /** Releases a claim that was granted after its caller had been refused. */
  private async giveBack(claim: string, late: Promise<IdempotencyState> | undefined): Promise<void> {
    try {
      if ((await late)?.state === 'mine') {
        await this.parts.options.idempotency.store.abandon(claim, new LazyContext(claim))
      }
    } catch {
      // A `store-fault` event has reported this already, and the lease ends by itself.
    }
  }

  private replay(state: IdempotencyState, recording: Recording, log: CallLog): void {
    switch (state?.state) {
      case 'mismatch':
        throw otherBody()
      case 'in-flight':
        throw callInFlight()
      case 'done':
        if (typeof state.reply?.charge !== 'object') break
        sendStored(state.reply, recording, log)
        return
    }
    const why = 'claim() returned an unknown state'
    throw faultyStore('idempotency', this.parts.options, log.requestId, why)
  }

  private fail(recording: Recording, log: CallLog, error: unknown): void {
    const { requestId } = log
    if (!isCompatError(error)) {
      this.parts.options.emit({ type: 'fault', where: 'engine', requestId, error: eventError(error) })
    }
    // An error status means that nothing was charged. If something was, a repeat must learn that instead of the error.
    const told = log.charge === undefined ? asCompatError(error) : callCompleted(log.charge)
    log.failed(told.code, told.status, told.param)
    recording.fail(told)
  }

  /** Stores the reply if something was charged for it. Otherwise frees the key. */
  private async keep(claim: string, recording: Recording, log: CallLog): Promise<void> {
    const { store, ttlMs, keepBodies } = this.parts.options.idempotency
    // Another call has this claim now, and the row in the store belongs to it.
    if (log.claimLost) return
    if (log.charge !== undefined) {
      const { mode, bytes, status } = recording.reply ?? { mode: 'json' as const }
      const reply: StoredReply = {
        mode,
        charge: log.charge,
        ...(status !== undefined && { status }),
        ...(keepBodies && bytes !== undefined && { bytes }),
      }
      if (await this.tell(log, (context) => store.complete(claim, reply, ttlMs, context))) return
      // The key is free again and leads to the ledger, which knows about the charge.
    }
    await this.tell(log, (context) => store.abandon(claim, context))
  }

  /** Returns whether the store succeeded. */
  private async tell({ requestId }: CallLog, ask: (context: LazyContext) => Promise<void>): Promise<boolean> {
    const { clock, emit, timeouts } = this.parts.options
    const context = new LazyContext(requestId)
    try {
      await within(clock, timeouts.storeMs, ask(context))
      return true
    } catch (error) {
      context.end()
      emit({ type: 'store-fault', store: 'idempotency', requestId, error: eventError(error) })
      return false
    }
  }
}

/** Returns the call's `Idempotency-Key`, or undefined. Throws 400 if it is malformed. */
export function idempotencyKey(call: IncomingCall): string | undefined {
  const key = call.header('idempotency-key')
  if (key === undefined || VISIBLE_ASCII.test(key)) return key
  throw badKey()
}

function scopeOf({ principal }: Caller, key: string): string {
  const app = principal.kind === 'access-token' ? principal.app.id : null
  return sha256(JSON.stringify([principal.account, app, principal.credentialId, key]))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function sendStored(reply: StoredReply, recording: Recording, log: CallLog): void {
  const { mode, bytes, status, charge } = reply
  if (bytes === undefined) throw callCompleted(charge)
  recording.replay()
  log.replayed = true
  if (mode === 'json') {
    recording.send(status ?? 200, JSON_HEADERS, toWire(bytes))
    return
  }
  // The reply may have been cut off and charged.
  const code = recording.errors.endingCode(bytes)
  if (code !== undefined) log.failed(code, 200)
  recording.openStream(REPLAY_HEADERS)
  recording.end(toWire(bytes))
}
