const MAX_VALUES = 1_000
const OTHER = '_other'

/** The values of one label: what comes after the first 1,000 is `_other`. */
class Label {
  private readonly known = new Set<string>()

  of(value: string): string {
    if (this.known.has(value)) return value
    if (this.known.size >= MAX_VALUES) return OTHER
    this.known.add(value)
    return value
  }
}

/** The labels whose values a host or a provider makes up. */
export class LabelBook {
  readonly model = new Label()
  readonly provider = new Label()
  readonly route = new Label()
  readonly outcome = new Label()
}
