import type { ProviderEvent } from '../../contracts/providers.js'

/** The reading of a reply whose client has left: for so long, and for so many bytes. */
export class Drain {
  private bytes = 0

  constructor(
    /** When it must be over. */
    readonly until: number,
    private readonly maxBytes: number,
    private readonly freeSlot: (() => void) | undefined,
  ) {}

  /** Counts what one read brought. Returns whether that is still within the bytes that it may bring. */
  take(events: readonly ProviderEvent[]): boolean {
    for (const event of events) {
      this.bytes += event.type === 'data' ? event.bytes.length : JSON.stringify(event).length
    }
    return this.bytes <= this.maxBytes
  }

  end(): void {
    this.freeSlot?.()
  }
}
