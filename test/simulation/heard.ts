import type { Usage } from '../../src/protocol/usage.js'
import { LOST_TEXT, type Said } from './upstream-script.js'

/** Token counts that the oracle accepts. */
export interface Bounds {
  readonly prompt: number
  readonly completion: number
  /** Tokens of one choice. */
  readonly choice: number
}

/** Valid JSON events with a part that no client can read. */
export function isUnreadable(said: Said): boolean {
  return said.say === 'garbage' && said.how !== 'json' && said.how !== 'choices'
}

const FIELDS = ['prompt', 'cached', 'cacheWrite', 'completion', 'reasoning'] as const

/**
 * The result of a provider's events by the definitions of docs/charging.md: tokens, finish, reported usage.
 */
export class Heard {
  token = false
  /** It gave a finish reason. */
  reason = false
  whole = false
  /** A piece of content is unreadable. */
  unreadable = false
  failure: 'error' | 'garbage' | undefined
  final = false
  readonly texts = new Map<number, string>()
  private readonly counts: Partial<Record<keyof Usage, number>> = {}
  private readonly finished = new Map<number, boolean>()
  private readonly bytes = new Map<number, number>()
  private readonly named = new Set<number>()
  /** Choices with output after a finish reason: only the provider's own end counts for them. */
  private readonly continued = new Set<number>()
  private hasKnownReason = false
  private lastWasUsage = false
  private completionIsEarly = false
  private lostBytes = 0

  constructor(
    private readonly bounds: Bounds,
    private readonly n: number,
  ) {}

  /** Every choice that began has a finish reason, or the reply was JSON. */
  get isFinished(): boolean {
    return this.whole || (this.finished.size > 0 && [...this.finished.values()].every(Boolean))
  }

  /** Without output, an unknown finish reason is a failure. */
  get endedUnknown(): boolean {
    return this.reason && !this.hasKnownReason && !this.token && (this.counts.completion ?? 0) === 0
  }

  /** @param isDone whether the provider reported its end */
  reported(isDone: boolean): boolean {
    const counted = this.counts.prompt !== undefined || this.counts.completion !== undefined
    return counted && (this.final || (isDone && this.lastWasUsage))
  }

  hear(said: Said): void {
    if (this.failure !== undefined) return
    switch (said.say) {
      case 'usage':
        this.hearUsage(said.report)
        return
      case 'error':
        this.failure = 'error'
        return
      case 'garbage':
        // The choice of a reply with one choice is known, whatever its index.
        if (said.how === 'index' && this.n === 1)
          this.hear({ say: 'text', choice: 0, text: LOST_TEXT.index! })
        else if (isUnreadable(said)) this.hearUnreadable(said.how)
        else this.failure = 'garbage'
        return
      case 'whole':
        for (const [choice, { text, reason }] of said.choices.entries()) {
          this.begin(choice)
          this.hearText(choice, text)
          if (reason !== undefined) this.hearReason(reason)
          this.finished.set(choice, true)
          if (text !== '') this.texts.set(choice, text)
        }
        this.whole = true
        return
      case 'finish':
        this.begin(said.choice)
        if (said.reason === 'error') this.failure = 'error'
        else {
          this.finished.set(said.choice, !this.continued.has(said.choice))
          this.hearReason(said.reason)
        }
        return
      case 'tool':
        this.begin(said.choice)
        this.hearText(said.choice, `${this.named.has(said.choice) ? '' : said.name}${said.text}`)
        this.named.add(said.choice)
        return
      case 'text':
        this.texts.set(said.choice, (this.texts.get(said.choice) ?? '') + said.text)
        break
    }
    this.begin(said.choice)
    if ('text' in said) this.hearText(said.choice, said.text)
  }

  /** Output tokens by the rule of thumb: four bytes each. */
  get completionEstimate(): number {
    let tokens = 0
    for (let choice = 0; choice < this.n; choice++) {
      tokens += Math.min(Math.floor((this.bytes.get(choice) ?? 0) / 4), this.bounds.choice)
    }
    return tokens + Math.floor(this.lostBytes / 4)
  }

  /** The provider's counts, with an estimate for a missing prompt or completion. */
  asReported(promptEstimate: number): { usage: Usage; basis: 'reported' | 'estimated' } {
    if (this.counts.completion === undefined || this.completionIsEarly) {
      return { usage: this.asEstimated(promptEstimate), basis: 'estimated' }
    }
    const { prompt = promptEstimate, completion } = this.counts
    return { usage: this.filled(prompt, completion), basis: this.isComplete ? 'reported' : 'estimated' }
  }

  /** No part of the report has to be estimated. */
  get isComplete(): boolean {
    const { prompt, completion } = this.counts
    return prompt !== undefined && completion !== undefined && !this.completionIsEarly
  }

  /** Without a report at the end: the counts reported before, and at least the output so far. */
  asEstimated(promptEstimate: number): Usage {
    const { prompt, completion = 0 } = this.counts
    return this.filled(prompt ?? promptEstimate, Math.max(completion, this.completionEstimate))
  }

  private filled(prompt: number, completion: number): Usage {
    const cached = Math.min(this.counts.cached ?? 0, prompt)
    const cacheWrite = Math.min(this.counts.cacheWrite ?? 0, prompt - cached)
    const reasoning = Math.min(this.counts.reasoning ?? 0, completion)
    return { prompt, cached, cacheWrite, completion, reasoning }
  }

  private hearUnreadable(how: string): void {
    this.unreadable = true
    this.hearToken()
    if (how !== 'index') {
      this.begin(0)
      this.goOn(0)
    }
    // Its text is counted, whichever field it is in.
    this.lostBytes += LOST_TEXT[how]?.length ?? 0
  }

  private begin(choice: number): void {
    if (!this.finished.has(choice)) this.finished.set(choice, false)
  }

  private hearText(choice: number, text: string): void {
    if (text === '') return
    this.hearToken()
    this.goOn(choice)
    this.bytes.set(choice, (this.bytes.get(choice) ?? 0) + Buffer.byteLength(text))
  }

  private hearToken(): void {
    this.token = true
    this.lastWasUsage = false
    this.final = false
    this.completionIsEarly = true
  }

  /** Output after a finish reason shows that the choice had not finished. */
  private goOn(choice: number): void {
    if (this.finished.get(choice) !== true) return
    this.finished.set(choice, false)
    this.continued.add(choice)
  }

  private hearReason(reason: string): void {
    this.reason = true
    if (reason !== 'some new word') this.hasKnownReason = true
  }

  private hearUsage(report: { readonly [field: string]: unknown }): void {
    for (const field of FIELDS) {
      const value = report[field]
      const isWhole = field === 'prompt' || field === 'completion'
      const most = Math.min(isWhole ? this.bounds[field] : Infinity, 1_000_000_000)
      const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most
      if (!isCount) continue
      this.counts[field] = Math.max(this.counts[field] ?? 0, value)
      if (field === 'completion') this.completionIsEarly = false
    }
    if (this.isFinished) this.final = true
    this.lastWasUsage = true
  }
}
