import { MEDIA_UNITS, type MediaName, type MediaUnit } from '../../base/units.js'
import {
  clampUsage,
  INPUT_MEDIA,
  isCount,
  type MediaCounts,
  mediaCount,
  OUTPUT_MEDIA,
  type Usage,
  type UsageReport,
} from '../../protocol/usage.js'

/** The catalogue's limits of a model, and the number of choices. */
export interface UsageBounds {
  readonly contextLength?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly n: number
}

/** A prompt or a choice with more tokens is implausible. */
const MOST_TOKENS = 10_000_000

export interface ResolvedUsage {
  readonly usage: Usage
  readonly basis: 'reported' | 'estimated'
}

/** The tokens used for a missing prompt or completion. */
export interface TokenEstimates {
  readonly prompt: number
  readonly completion: number
}

type Field = keyof Usage
type TextField = Exclude<Field, MediaName>

const NOTHING_TOLD: readonly Field[] = []
const NO_MEDIA: MediaCounts = Object.freeze({})
const TEXT_FIELDS: readonly TextField[] = ['prompt', 'cached', 'cacheWrite', 'completion', 'reasoning']

/** Collects the usage reports of a provider. For each field, the largest value counts. */
export class UsageMeter {
  private readonly largest: Record<TextField, number | undefined> = {
    prompt: undefined,
    cached: undefined,
    cacheWrite: undefined,
    completion: undefined,
    reasoning: undefined,
  }
  private largestMedia = NO_MEDIA
  /** Fields already reported. Otherwise a provider that reports with every chunk would flood the host's log. */
  private told: readonly (Field | 'total')[] = NOTHING_TOLD
  private final = false
  private tokensFollowed = false
  /**
   * Set if the reply failed in the event that carried a report. That report counts the output of the same event too.
   */
  private hasFailed = false
  /** Whether the latest completion count may be final: it comes from a final snapshot, or no token has come since. */
  private wholeCompletion = false

  /**
   * @param onImplausible called once per field, for a value that is no count, is above the catalogue's limit, or is
   * larger than the count that it is part of
   * @param onUnread called for cached tokens reported under a name that the adapter does not know
   */
  constructor(
    private readonly bounds: UsageBounds,
    private readonly onImplausible: (field: Field | 'total', value: unknown) => void,
    private readonly onUnread: (name: string, count: number) => void,
  ) {}

  /**
   * @param finished whether the reply had finished before this snapshot came
   * @param failed whether the snapshot came in the event in which the reply failed
   */
  snapshot(report: UsageReport, finished: boolean, failed = false): void {
    if (this.tokensFollowed && !this.final) this.wholeCompletion = false
    for (const field of TEXT_FIELDS) this.take(field, this.read(field, report[field]))
    for (const { name } of MEDIA_UNITS) if (Object.hasOwn(report, name)) this.takeMedia(name, report[name])
    for (const name in report.unread) this.onUnread(name, report.unread[name]!)
    const total = this.read('total', report.total)
    if (total !== undefined) this.takeRest(report, total)
    this.checkParts()
    if (finished || failed) this.final = true
    if (failed) this.hasFailed = true
    this.tokensFollowed = false
  }

  /** Notes a token. A token after a report shows that the reply had not finished before the report. */
  token(): void {
    if (this.hasFailed) return
    this.tokensFollowed = true
    this.final = false
  }

  /**
   * Whether a final snapshot came: at or after the finish, or as the last thing before the provider ended the reply.
   */
  reported(terminated: boolean): boolean {
    const counted = this.largest.prompt !== undefined || this.largest.completion !== undefined
    return counted && (this.final || (terminated && !this.tokensFollowed))
  }

  /** Whether nothing needs an estimate: the prompt counts from the first report, the completion only from the last. */
  get complete(): boolean {
    return this.largest.prompt !== undefined && this.largest.completion !== undefined && this.wholeCompletion
  }

  /** The provider's counts. A missing prompt or completion is estimated, and a missing detail is 0. */
  asReported(estimates: TokenEstimates): ResolvedUsage {
    const { prompt = estimates.prompt, completion } = this.largest
    if (completion === undefined || !this.wholeCompletion) return this.asEstimated(estimates)
    return { usage: this.filled(prompt, completion), basis: this.complete ? 'reported' : 'estimated' }
  }

  /** The usage without a final report: the reported prompt, and the larger of the reported and the estimated output. */
  asEstimated(estimates: TokenEstimates): ResolvedUsage {
    const { prompt, completion } = this.largest
    return {
      usage: this.filled(prompt ?? estimates.prompt, Math.max(completion ?? 0, estimates.completion)),
      basis: 'estimated',
    }
  }

  /** The provider's counts of a call that costs nothing, with 0 for missing ones. */
  asFree(): ResolvedUsage {
    return { usage: this.filled(this.largest.prompt ?? 0, this.largest.completion ?? 0), basis: 'reported' }
  }

  private filled(prompt: number, completion: number): Usage {
    const { cached = 0, cacheWrite = 0, reasoning = 0 } = this.largest
    return clampUsage({ prompt, cached, cacheWrite, completion, reasoning }, this.largestMedia)
  }

  private take(field: TextField, count: number | undefined): void {
    if (count === undefined) return
    this.largest[field] = Math.max(this.largest[field] ?? 0, count)
    if (field === 'completion') this.wholeCompletion = true
  }

  private takeMedia(name: MediaName, value: unknown): void {
    const count = this.read(name, value)
    if (count === undefined) return
    const before = mediaCount(this.largestMedia, name) ?? 0
    this.largestMedia = { ...this.largestMedia, [name]: Math.max(before, count) }
  }

  /** Derives a missing prompt or completion from the other one and the total. */
  private takeRest(report: UsageReport, total: number): void {
    const prompt = this.read('prompt', report.prompt)
    const completion = this.read('completion', report.completion)
    if (this.largest.prompt === undefined && completion !== undefined && total >= completion) {
      this.take('prompt', total - completion)
    }
    if (completion === undefined && prompt !== undefined && total >= prompt) {
      this.take('completion', total - prompt)
    }
  }

  /** Reports parts that are larger than their whole. They are charged as the whole. */
  private checkParts(): void {
    const {
      cached = 0,
      cacheWrite = 0,
      completion = Infinity,
      prompt = Infinity,
      reasoning = 0,
    } = this.largest
    if (cached > prompt) this.report('cached', cached)
    else if (cached + cacheWrite > prompt) this.report('cacheWrite', cacheWrite)
    if (reasoning > completion) this.report('reasoning', reasoning)
    this.checkMedia(INPUT_MEDIA, prompt)
    this.checkMedia(OUTPUT_MEDIA, completion)
  }

  private checkMedia(units: readonly MediaUnit[], whole: number): void {
    let sum = 0
    for (const { name } of units) {
      const count = mediaCount(this.largestMedia, name) ?? 0
      sum += count
      if (sum > whole) {
        this.report(name, count)
        return
      }
    }
  }

  /** Returns a plausible count. A count above the catalogue's limit is plausible, since the provider bills it. */
  private read(field: Field | 'total', value: unknown): number | undefined {
    if (value === undefined || value === null) return undefined
    const isPossible = isCount(value) && value <= this.most(field)
    if (!isPossible || value > this.listed(field)) this.report(field, value)
    return isPossible ? value : undefined
  }

  private report(field: Field | 'total', value: unknown): void {
    if (this.told.includes(field)) return
    this.told = [...this.told, field]
    this.onImplausible(field, value)
  }

  /** The highest plausible value. A part has none, since it is clamped to its whole. */
  private most(field: Field | 'total'): number {
    if (field === 'prompt') return MOST_TOKENS
    if (field === 'completion') return MOST_TOKENS * this.bounds.n
    return field === 'total' ? MOST_TOKENS * (this.bounds.n + 1) : Infinity
  }

  private listed(field: Field | 'total'): number {
    const { contextLength = Infinity, maxOutputTokens = Infinity, n } = this.bounds
    if (field === 'prompt') return contextLength
    return field === 'completion' ? maxOutputTokens * n : Infinity
  }
}
