const MAX_VALUES = 1_000
/** Each route is reported in four states, and the SDK supports at most 1,999 sets of attributes. */
const MAX_ROUTES = 450
export const OTHER = '_other'

/** The values of one label. Values beyond the maximum become `_other`. */
class Label {
  private readonly known = new Set<string>()

  constructor(private readonly max = MAX_VALUES) {}

  of(value: string): string {
    if (this.known.has(value)) return value
    if (this.known.size >= this.max) return OTHER
    this.known.add(value)
    return value
  }
}

/** The labels with values from hosts and providers. */
export class LabelBook {
  readonly model = new Label()
  readonly provider = new Label()
  readonly route = new Label(MAX_ROUTES)
  readonly outcome = new Label()
}
