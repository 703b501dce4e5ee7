import { clampUsage, isCount, type Usage, type UsageReport } from '../../protocol/usage.js'

/** Counts above these are nonsense. */
export interface UsageBounds {
  readonly prompt: number
  readonly completion: number
}

export interface ResolvedUsage {
  readonly usage: Usage
  readonly basis: 'reported' | 'estimated'
}

/** The tokens that take the place of a missing prompt or completion. */
export interface TokenEstimates {
  readonly prompt: number
  readonly completion: number
}

type Field = keyof Usage

const NOTHING_TOLD: readonly Field[] = []
const FIELDS: readonly Field[] = ['prompt', 'cached', 'cacheWrite', 'completion', 'reasoning']

/** Takes the snapshots of usage that a provider sends; field by field the largest counts. */
export class UsageMeter {
  private readonly largest: Record<Field, number | undefined> = {
    prompt: undefined,
    cached: undefined,
    cacheWrite: undefined,
    completion: undefined,
    reasoning: undefined,
  }
  /** Of these has been told: a provider that reports with every chunk would flood the host's log. */
  private told = NOTHING_TOLD
  private final = false
  private tokensFollowed = false
  /** The completion reported last can be the whole one: it is of a final snapshot, or no token has come since. */
  private wholeCompletion = false

  constructor(
    private readonly bounds: UsageBounds,
    private readonly onImplausible: (field: Field, value: unknown) => void,
  ) {}

  /** @param finished whether the reply had finished before this snapshot came */
  snapshot(report: UsageReport, finished: boolean): void {
    if (this.tokensFollowed && !this.final) this.wholeCompletion = false
    for (const field of FIELDS) {
      const value = report[field]
      if (value === undefined || value === null) continue
      if (!isCount(value) || value > this.bound(field)) this.tell(field, value)
      else {
        this.largest[field] = Math.max(this.largest[field] ?? 0, value)
        if (field === 'completion') this.wholeCompletion = true
      }
    }
    if (finished) this.final = true
    this.tokensFollowed = false
  }

  token(): void {
    this.tokensFollowed = true
  }

  /** Whether a final snapshot came: at or after the finish, or as the last thing before the provider said that it is done. */
  reported(terminated: boolean): boolean {
    const counted = this.largest.prompt !== undefined || this.largest.completion !== undefined
    return counted && (this.final || (terminated && !this.tokensFollowed))
  }

  /** Whether a report leaves nothing to estimate: the prompt stands from the first, the completion only at the end. */
  get complete(): boolean {
    return this.largest.prompt !== undefined && this.largest.completion !== undefined && this.wholeCompletion
  }

  /** The provider's counts; a missing prompt or completion is estimated, a missing detail is 0. */
  asReported(estimates: TokenEstimates): ResolvedUsage {
    const { prompt = estimates.prompt, completion } = this.largest
    if (completion === undefined || !this.wholeCompletion) return this.asEstimated(estimates)
    return { usage: this.filled(prompt, completion), basis: this.complete ? 'reported' : 'estimated' }
  }

  /** Without a final report: the prompt as reported before, of the output the larger of reported before and estimated. */
  asEstimated(estimates: TokenEstimates): ResolvedUsage {
    const { prompt, completion } = this.largest
    return {
      usage: this.filled(prompt ?? estimates.prompt, Math.max(completion ?? 0, estimates.completion)),
      basis: 'estimated',
    }
  }

  /** The provider's counts where nothing is due for them, 0 where it gave none. */
  asFree(): ResolvedUsage {
    return { usage: this.filled(this.largest.prompt ?? 0, this.largest.completion ?? 0), basis: 'reported' }
  }

  private filled(prompt: number, completion: number): Usage {
    const { cached = 0, cacheWrite = 0, reasoning = 0 } = this.largest
    return clampUsage({ prompt, cached, cacheWrite, completion, reasoning })
  }

  private tell(field: Field, value: unknown): void {
    if (this.told.includes(field)) return
    this.told = [...this.told, field]
    this.onImplausible(field, value)
  }

  /** A part is clamped to its whole, however large. */
  private bound(field: Field): number {
    return field === 'prompt' || field === 'completion' ? this.bounds[field] : Infinity
  }
}
