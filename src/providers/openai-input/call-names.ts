/** The ids and names of a conversation's tool calls, in a form for an API that accepts each id only once. */
export class CallNames {
  private readonly ids = new Map<string, string>()
  private readonly used = new Set<string>()
  /** The next number for each id that was used before. */
  private readonly counts = new Map<string, number>()

  /**
   * @param cleans whether to keep only the characters that Claude accepts: a server of another model may know its calls
   * by the others
   */
  constructor(private readonly cleans: boolean) {}

  newId(given: string): string {
    const clean = this.nameOf(given)
    let id = clean
    let count = this.counts.get(clean) ?? 2
    while (this.used.has(id)) id = `${clean}_${count++}`
    this.counts.set(clean, count)
    this.used.add(id)
    this.ids.set(given, id)
    return id
  }

  /** Returns the new id of the latest call that had this id. */
  idOf(given: string): string {
    return this.ids.get(given) ?? this.nameOf(given)
  }

  nameOf(given: string): string {
    return this.cleans ? given.replace(/[^\w-]/g, '_') : given
  }
}
