/** The counts that a provider reported at once, as it wrote them. */
export interface CountReport {
  readonly prompt?: unknown
  readonly cached?: unknown
  readonly cacheWrite?: unknown
  readonly completion?: unknown
  readonly reasoning?: unknown
  readonly total?: unknown
}

export interface FinalCounts {
  readonly prompt: number
  readonly cached: number
  readonly cacheWrite: number
  readonly completion: number
  readonly reasoning: number
  readonly basis: 'reported' | 'estimated'
}

interface Estimate {
  readonly prompt: number
  readonly completion: number
}

const MOST = 10_000_000

/** Returns a valid count: an integer from 0 to ten millions. Anything else is missing. */
export function valid(value: unknown, most = MOST): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most
    ? value
    : undefined
}

interface Heard {
  readonly report: CountReport
  /** Whether the reply had ended before it. */
  readonly isFinal: boolean
  /** How many tokens had come before it. */
  readonly tokensBefore: number
}

/** All reports of one reply, added up once at its end by the rules of "Repeated reports" and "Invalid counts". */
export class Counts {
  private readonly heard: Heard[] = []
  private tokens = 0

  token(): void {
    this.tokens++
  }

  report(report: CountReport, isFinal: boolean): void {
    this.heard.push({ report, isFinal, tokensBefore: this.tokens })
  }

  /** The reports after the last token. */
  private get last(): readonly Heard[] {
    return this.heard.filter(({ tokensBefore }) => tokensBefore === this.tokens)
  }

  isReported(isDone: boolean): boolean {
    const hasCount = this.prompt !== undefined || this.largest('completion') !== undefined
    if (!hasCount) return false
    if (this.last.some(({ isFinal }) => isFinal)) return true
    return isDone && (this.last.length > 0 || this.tokens === 0)
  }

  /** Whether neither count is left to estimate. */
  get isComplete(): boolean {
    return this.prompt !== undefined && this.wholeCompletion !== undefined
  }

  asReported(estimate: Estimate): FinalCounts {
    const completion = this.wholeCompletion
    if (completion === undefined) return this.asEstimated(estimate)
    return this.filled(this.prompt ?? estimate.prompt, completion, this.isComplete ? 'reported' : 'estimated')
  }

  asEstimated(estimate: Estimate): FinalCounts {
    const completion = Math.max(this.largest('completion') ?? 0, estimate.completion)
    return this.filled(this.prompt ?? estimate.prompt, completion, 'estimated')
  }

  asFree(): FinalCounts {
    return this.filled(this.prompt ?? 0, this.largest('completion') ?? 0, 'reported')
  }

  /** The largest output of all reports, if one after the last token has an output. */
  private get wholeCompletion(): number | undefined {
    const isWhole = this.last.some(({ report }) => completionOf(report) !== undefined)
    return isWhole ? this.largest('completion') : undefined
  }

  private get prompt(): number | undefined {
    let prompt: number | undefined
    for (const { report } of this.heard) {
      const own = valid(report.prompt)
      if (own !== undefined) prompt = Math.max(prompt ?? 0, own)
      const total = valid(report.total, 2 * MOST)
      const output = valid(report.completion)
      // The total helps out only while no report had a prompt.
      if (prompt === undefined && total !== undefined && output !== undefined && total >= output)
        prompt = total - output
    }
    return prompt
  }

  private largest(name: 'completion' | 'cached' | 'cacheWrite' | 'reasoning'): number | undefined {
    const found = this.heard.flatMap(
      ({ report }) => (name === 'completion' ? completionOf(report) : valid(report[name], 1e9)) ?? [],
    )
    return found.length === 0 ? undefined : Math.max(...found)
  }

  private filled(prompt: number, completion: number, basis: FinalCounts['basis']): FinalCounts {
    const cached = Math.min(this.largest('cached') ?? 0, prompt)
    return {
      prompt,
      cached,
      cacheWrite: Math.min(this.largest('cacheWrite') ?? 0, prompt - cached),
      completion,
      reasoning: Math.min(this.largest('reasoning') ?? 0, completion),
      basis,
    }
  }
}

/** The output of a report, or the total less the prompt. */
function completionOf(report: CountReport): number | undefined {
  const own = valid(report.completion)
  if (own !== undefined) return own
  const total = valid(report.total, 2 * MOST)
  const prompt = valid(report.prompt)
  return total !== undefined && prompt !== undefined && total >= prompt ? total - prompt : undefined
}

/** Nano-credits for one token, and for a call. The prices of the test: no cost of it is rounded. */
export const PRICES = {
  input: '10',
  cachedInput: '1',
  cacheWrite: '12.5',
  output: '20',
  reasoning: '30',
  request: '0.001',
}
const A_CALL = 1_000_000n

export function costOf({ cached, cacheWrite, completion, prompt, reasoning }: FinalCounts): bigint {
  return (
    A_CALL +
    BigInt(prompt - cached - cacheWrite) * 10_000n +
    BigInt(cached) * 1_000n +
    BigInt(cacheWrite) * 12_500n +
    BigInt(completion - reasoning) * 20_000n +
    BigInt(reasoning) * 30_000n
  )
}
