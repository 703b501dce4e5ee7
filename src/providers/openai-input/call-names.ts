/** The ids and names of tool calls in a conversation, as an API accepts them that knows each id only once. */
export class CallNames {
  private readonly ids = new Map<string, string>()
  private readonly used = new Set<string>()
  /** The next number for each id that was given before. */
  private readonly counts = new Map<string, number>()

  /**
   * @param cleans whether only the characters are kept that Claude accepts: a server of another model may know its calls
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

  /** The id of the latest call that was given this one. */
  idOf(given: string): string {
    return this.ids.get(given) ?? this.nameOf(given)
  }

  nameOf(given: string): string {
    return this.cleans ? given.replace(/[^\w-]/g, '_') : given
  }
}
