import type { CompatError } from '../../../base/errors.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import type { StreamWriter } from '../../chat/reply/chunk-writer.js'
import { OutputItems } from './output-items.js'
import {
  type AboutResponse,
  type ResponseState,
  responseError,
  responseObject,
  responseUsage,
} from './response-object.js'

/** Writes a response as named events, each with its number. */
export class ResponseStream implements StreamWriter {
  private written = ''
  private count = 0
  private isKept = false
  private readonly items: OutputItems

  constructor(private readonly about: AboutResponse) {
    this.items = new OutputItems(about, (type, fields) => this.event(type, fields))
  }

  chunks(choices: readonly JsonObject[]): string {
    this.begin()
    for (const choice of choices) this.items.add(choice)
    return this.take()
  }

  closing(charge: WireCharge): string {
    this.begin()
    this.items.end(true)
    const reason = this.items.incompleteReason
    const status = reason === undefined ? 'completed' : 'incomplete'
    this.state(`response.${status}`, { status, reason, usage: responseUsage(charge) })
    this.keep()
    return this.take()
  }

  failing(error: CompatError, charge: WireCharge, pending: string): string {
    this.begin()
    this.items.end(false)
    this.state('response.failed', {
      status: 'failed',
      error: responseError(error),
      usage: responseUsage(charge),
    })
    this.keep()
    return pending + this.take()
  }

  /** The client has left. It can go on from what it has read. */
  discard(): void {
    this.keep()
  }

  private keep(): void {
    if (this.isKept) return
    this.isKept = true
    this.items.keep()
  }

  private begin(): void {
    if (this.count > 0) return
    this.state('response.created', { status: 'in_progress' })
    this.state('response.in_progress', { status: 'in_progress' })
  }

  private state(type: string, state: Omit<ResponseState, 'output'>): void {
    this.event(type, { response: responseObject(this.about, { ...state, output: this.items.output }) })
  }

  private event(type: string, fields: JsonObject): void {
    const json = JSON.stringify({ type, sequence_number: this.count++, ...fields })
    this.written += `event: ${type}\ndata: ${toLatin1(json)}\n\n`
  }

  private take(): string {
    const { written } = this
    this.written = ''
    return written
  }
}
