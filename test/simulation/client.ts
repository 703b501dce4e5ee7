import type { ReplyBytes, ReplyWriter, WholeReply } from '../../src/contracts/reply.js'
import { fromWire, joined } from '../../src/protocol/wire-bytes.js'
import type { SlowPlan } from './call-plan.js'

type Headers = Readonly<Record<string, string>>

export interface ClientHooks {
  /** This client received something. */
  readonly step: () => void
  readonly later: (ms: number, run: () => void) => void
  readonly now: () => number
  readonly broken: (what: string) => void
}

/** A client from the router's view, and everything it received. */
export class SimClient implements ReplyWriter {
  left = false
  leftAt: number | undefined
  droppedAt: number | undefined
  status: number | undefined
  headers: Headers = {}
  body: string | undefined
  /** The stream so far, as latin1. */
  text = ''
  /** Everything was sent. */
  over = false
  overAt: number | undefined
  opened = false
  private writes = 0
  private listener: (() => void) | undefined
  private resume: (() => void) | undefined
  private full: Promise<void> | undefined

  constructor(
    private readonly slow: SlowPlan | undefined,
    private readonly hooks: ClientHooks,
    /** A killed process sends nothing any more. */
    private readonly isCutOff: () => boolean,
  ) {}

  onLeave(listener: () => void): void {
    this.listener = listener
    if (this.left) this.tell()
  }

  send(status: number, headers: Headers, bytes: WholeReply): void {
    if (!this.takes('send')) return
    if (this.opened) this.hooks.broken('send after openStream')
    this.status = status
    this.headers = headers
    this.body = fromWire(joined([bytes].flat()))
    this.finish()
  }

  openStream(headers: Headers): void {
    if (!this.takes('openStream')) return
    if (this.opened) this.hooks.broken('openStream twice')
    this.opened = true
    this.status = 200
    this.headers = headers
    this.hooks.step()
  }

  write(bytes: string): void | Promise<void> {
    if (!this.takes('write')) return
    if (!this.opened) this.hooks.broken('write before openStream')
    this.text += bytes
    this.writes++
    this.hooks.step()
    return this.full ?? this.fill()
  }

  end(bytes: ReplyBytes): void {
    if (!this.takes('end')) return
    if (!this.opened) this.hooks.broken('end before openStream')
    this.text += [...bytes].join('')
    this.finish()
  }

  drop(): void {
    if (this.isCutOff()) return
    if (!this.left && !this.over) this.droppedAt = this.hooks.now()
    this.leave()
  }

  /** The client leaves. After the end of its reply this has no effect. */
  leave(): void {
    if (this.left || this.over) return
    this.left = true
    this.leftAt = this.hooks.now()
    this.goOn()
    this.tell()
  }

  private finish(): void {
    this.over = true
    this.overAt = this.hooks.now()
    this.hooks.step()
  }

  private takes(what: string): boolean {
    if (this.left || this.isCutOff()) return false
    if (this.over) this.hooks.broken(`${what} after the end`)
    return !this.over
  }

  private fill(): Promise<void> | undefined {
    const { slow } = this
    if (slow === undefined) return undefined
    const stalls = slow.stallsAt !== undefined && this.writes >= slow.stallsAt
    if (!stalls && this.writes % slow.every !== 0) return undefined
    this.full = new Promise((resolve) => {
      this.resume = resolve
    })
    if (!stalls) this.hooks.later(slow.ms, () => this.goOn())
    return this.full
  }

  private goOn(): void {
    this.full = undefined
    this.resume?.()
    this.resume = undefined
  }

  private tell(): void {
    const { listener } = this
    this.listener = undefined
    listener?.()
  }
}
