import type { RouterEvent } from '../../contracts/events.js'

/** Callers make up the names, so no more are remembered. */
const MAX_REMEMBERED = 1_000

/** Reports members that were left out of requests, each once for each model. */
export class TrimmedRequests {
  /** In the order in which they were reported. */
  private readonly reported = new Set<string>()

  constructor(private readonly emit: (event: RouterEvent) => void) {}

  report(requestId: string, model: string, leftOut: readonly string[]): void {
    const members = leftOut.filter((member) => this.isNew(`${model} ${member}`))
    if (members.length > 0) this.emit({ type: 'request-trimmed', requestId, model, members })
  }

  private isNew(key: string): boolean {
    if (this.reported.has(key)) return false
    const [oldest] = this.reported
    if (this.reported.size >= MAX_REMEMBERED) this.reported.delete(oldest!)
    this.reported.add(key)
    return true
  }
}
