/** How many calls may be read on at once after their client left. */
export class DrainSlots {
  private taken = 0

  constructor(private readonly slots: number) {}

  /** Returns what frees the slot, or undefined where none is left. */
  take(): (() => void) | undefined {
    if (this.taken >= this.slots) return undefined
    this.taken++
    return () => {
      this.taken--
    }
  }
}
