/** Reads the charges of a target, each once. */
export class NewCharges {
  private seen = 0

  constructor(private readonly all: () => Promise<readonly bigint[]>) {}

  /** Returns the charges since the last time. */
  async next(): Promise<readonly bigint[]> {
    const charges = await this.all()
    const since = charges.slice(this.seen)
    this.seen = charges.length
    return since
  }
}
