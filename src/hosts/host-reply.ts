import type { CompatError } from '../base/errors.js'
import type { ReplyBytes, WholeReply } from '../contracts/reply.js'
import { type ErrorStyle, errorReply } from '../protocol/error-body.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import type { HostOptions } from './answers.js'
import type { HostedReply, ReplyHeaders } from './hosted.js'
import { piecesOf } from './reply-head.js'

/** What the replies of every host need from their handler. */
export type HostReplyTools = Pick<HostOptions, 'resourceMetadata' | 'timeouts' | 'onFault'>

/** The part of a reply that is the same in every host: its states, and the listener for a client that leaves. */
export abstract class HostReply implements HostedReply {
  protected phase: 'waiting' | 'stream' | 'done' = 'waiting'
  protected hasLeft = false
  private listener: (() => void) | undefined

  /** `errors`: OpenAI's shape if undefined. */
  constructor(
    private readonly id: string,
    private readonly onFault: HostOptions['onFault'],
    private readonly errors: ErrorStyle | undefined,
  ) {}

  abstract readonly isOriginDecided: boolean
  readonly onDone?: (() => void) | undefined

  abstract send(status: number, headers: Readonly<ReplyHeaders>, bytes: WholeReply): void | Promise<void>
  abstract sendNoContent(headers: Readonly<ReplyHeaders>): void
  abstract openStream(headers: Readonly<ReplyHeaders>): void
  abstract write(bytes: WireBytes): void | Promise<void>
  abstract end(bytes: ReplyBytes): void | Promise<void>
  abstract drop(): void
  abstract destroy(): void

  /** Whether nobody receives what else is written. */
  protected abstract readonly isGone: boolean
  /** Writes a piece. Returns a promise if the client has to accept it first. It also settles when the client is gone. */
  protected abstract put(piece: WireBytes): void | Promise<void>
  /** Ends the reply after its last piece. */
  protected abstract close(): void
  /** Drops the client, because it may have received half of something. */
  protected abstract cutOff(): void

  get left(): boolean {
    return this.hasLeft
  }

  onLeave(listener: () => void): void {
    this.listener = listener
    if (this.hasLeft) this.tellListener()
  }

  sendError(error: CompatError): void {
    const { status, headers, body } = errorReply(error, this.errors)
    void this.send(status, headers, body)
  }

  fail(error: CompatError): void {
    if (this.phase === 'waiting') this.sendError(error)
    else if (this.phase === 'stream') this.drop()
  }

  /** Reports what the host threw, and drops the client. */
  protected breakOff(error: unknown): void {
    this.onFault('http reply', error, this.id)
    this.cutOff()
  }

  /** Writes a long end in pieces. Settles when the client has accepted all of them, or is gone. Never rejects. */
  protected async sendPieces(bytes: ReplyBytes): Promise<void> {
    try {
      for (const piece of piecesOf(bytes)) {
        if (this.isGone) return
        await this.put(piece)
      }
      if (!this.isGone) this.close()
    } catch (error) {
      this.breakOff(error)
    }
  }

  protected tellListener(): void {
    const { listener } = this
    this.listener = undefined
    try {
      listener?.()
    } catch (error) {
      this.onFault('http leave', error, this.id)
    }
  }
}
