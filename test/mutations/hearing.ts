import type { JsonObject } from '../recordings/recording.js'
import { CallBook } from './calls.js'
import { type CountReport, Counts, type FinalCounts } from './counts.js'
import { meaningOf, wordIn } from './finish-words.js'

/** A call of a tool in a good reply. */
export interface ToolCall {
  readonly name: string
  readonly arguments: string
}

/** How a reply has to reach one client. */
export interface Expected {
  /**
   * - `whole`: with a finish reason and, in a stream, `[DONE]`
   * - `refused`: an HTTP error
   * - `broken`: a stream that ends with an error
   */
  readonly outcome: 'whole' | 'refused' | 'broken'
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly ToolCall[]
  readonly finish: string | undefined
  /** The provider's own word for the end, undefined if it has none that counts. */
  readonly native: string | undefined
  /** Whether reasoning came after text had begun. */
  readonly isMixed: boolean
  /** Whether details of the reasoning came without it or with other text, so they may say more. */
  readonly hasLooseDetails: boolean
  readonly charge: ExpectedCharge
  /** The rules that do not decide this reply: several values are good. Empty for most. */
  readonly unsure: ReadonlySet<Unsure>
}

/**
 * - `calls`: how the pieces of calls belong together, and so also the estimate of their tokens
 * - `sent`: how much of a reply that fails is sent before its error
 */
export type Unsure = 'calls' | 'sent'

export interface ExpectedCharge {
  readonly due: 'nothing' | 'reported' | 'estimated'
  readonly counts: FinalCounts
  /** Of an estimate whose text is not sure: the completion may be less. */
  readonly completionFrom: number
}

/** One delta or message, read by the rules of its provider's language. */
export interface Said {
  readonly text?: string
  readonly reasoning?: string
  readonly refusal?: string
  /** Whether a blank line parts the reasoning from the thought before it. */
  readonly isApart?: boolean
  /** Whether details of the reasoning have a text of their own that is not read. */
  readonly hasLooseDetails?: boolean
  /** Output of another kind, such as an image. */
  readonly isOther?: boolean
  /** The value of `tool_calls`, if there is one. */
  readonly calls?: unknown
  /** The text of output that cannot be read. Undefined if all can. */
  readonly lost?: string
  /** The text of a call of the older kind, which counts in an estimate. */
  readonly older?: string
}

interface End {
  readonly word: string
  readonly native: string
}

const bytesOf = (text: string): number => Buffer.byteLength(text)

/** The tokens of the request's own text, at 4 bytes each. */
export const PROMPT_TEXT = 'Say hello to each of them, please.......'
const PROMPT_TOKENS = bytesOf(PROMPT_TEXT) / 4

/**
 * Listens to one reply of a provider, event by event, and says how it has to reach a client: the rules of
 * docs/charging.md, written a second time. One choice was asked for, so whatever comes belongs to it.
 */
export class Hearing {
  private text = ''
  private reasoning = ''
  private refusal = ''
  private readonly book: CallBook
  private readonly counts = new Counts()
  private tokens = 0
  private bytes = 0
  private lostBytes = 0
  private isLost = false
  private isMixed = false
  private hasLooseDetails = false
  /** The text before the first piece that cannot be read. */
  private beforeLoss = { text: '', reasoning: '', refusal: '' }
  private given: End | undefined
  private isContinued = false
  private wasContinued = false
  private hasReason = false
  private hasCounted = false
  private hasLostCall = false
  private isDone = false
  private failure: 'error' | 'invalid' | undefined
  private readonly unsure = new Set<Unsure>()

  /** @param hasWholeCalls whether a body has its calls in the form of a chat */
  constructor(
    private readonly isBody: boolean,
    hasWholeCalls = isBody,
  ) {
    this.book = new CallBook(hasWholeCalls)
  }

  /** Whether nothing more is read. */
  get isOver(): boolean {
    return this.isDone || this.failure !== undefined
  }

  /** Whether the provider gave an end after which no token came. */
  private get hasEnded(): boolean {
    return this.given !== undefined && !this.wasContinued
  }

  /** Hears one piece of the choice. */
  say(
    {
      calls,
      hasLooseDetails = false,
      isApart = false,
      isOther = false,
      lost,
      older = '',
      reasoning = '',
      refusal = '',
      text = '',
    }: Said,
    lane = 0,
  ): void {
    const before = { text: this.text, reasoning: this.reasoning, refusal: this.refusal }
    this.hasLooseDetails ||= hasLooseDetails
    this.isMixed ||= reasoning !== '' && this.text !== ''
    this.text += text
    if (isApart && reasoning !== '' && this.reasoning !== '') this.reasoning += '\n\n'
    this.reasoning += reasoning
    this.refusal += refusal
    let isToken = text !== '' || reasoning !== '' || refusal !== '' || isOther || older !== ''
    this.bytes += bytesOf(text) + bytesOf(reasoning) + bytesOf(refusal) + bytesOf(older)
    if (lost !== undefined) {
      this.losePiece(lost, before)
      isToken = true
    }
    if (calls !== undefined && calls !== null) {
      const read = this.book.take(calls, lane)
      isToken ||= read.isToken
      for (const piece of read.lost) {
        this.losePiece(piece, before)
        isToken = true
      }
    }
    if (isToken) this.token()
  }

  /** Hears that nothing more of a call comes. After the end of the choice that says nothing new. */
  endCall(index: number): void {
    if (this.given === undefined) this.book.endCall(index)
  }

  /** Hears output that belongs to no choice and cannot be read. */
  lose(text: string): void {
    this.losePiece(text, { text: this.text, reasoning: this.reasoning, refusal: this.refusal })
    this.counts.token()
    this.tokens++
  }

  /** Hears a call that cannot be read. */
  loseCall(): void {
    this.lose('')
    this.hasLostCall = true
  }

  /** Hears the provider's word for the end, which a choice carries beside what it says. */
  end(choice: JsonObject): void {
    const found = wordIn(choice)
    if (found === undefined) return
    if (this.given !== undefined && !this.isContinued) return
    this.given = found
    this.hasReason = true
    this.isContinued = false
  }

  /** @param fails whether the reply fails with the same event */
  count(report: CountReport | undefined, fails = false): void {
    // A failure is the last that is heard.
    if (report === undefined || this.failure !== undefined) return
    if (
      typeof report.completion === 'number' &&
      Number.isInteger(report.completion) &&
      report.completion > 0
    ) {
      this.hasCounted = true
    }
    this.counts.report(report, this.isBody || this.hasEnded || fails)
  }

  fail(kind: 'error' | 'invalid'): void {
    if (!this.isOver) this.failure = kind
  }

  done(): void {
    if (!this.isOver) this.isDone = true
  }

  doubt(rule: Unsure): void {
    this.unsure.add(rule)
  }

  /** Says how the reply has to end for a client that asked for a stream, or for one body. */
  expected(stream: boolean): Expected {
    const {
      calls,
      lost: lostCalls,
      unsure,
    } = this.book.end(this.given !== undefined && meaningOf(this.given.word) === 'length')
    const doubts = new Set<Unsure>([...this.unsure, ...(unsure ? (['calls'] as const) : [])])
    const meaning = this.given === undefined ? 'stop' : meaningOf(this.given.word)
    const isFinished = this.failure !== 'error' && (this.isDone || this.hasEnded)
    let isLost = this.isLost
    let lostBytes = this.lostBytes
    // Only the end of a reply shows that a call never got its name, and says that output was dropped.
    if (isFinished) {
      isLost ||= lostCalls.length > 0 || meaning === 'dropped'
      for (const piece of lostCalls) lostBytes += bytesOf(piece)
    }
    const least = Math.floor((this.bytes + (unsure ? 0 : this.book.bytes)) / 4)
    const most = Math.floor((this.bytes + this.book.bytes) / 4) + Math.floor(lostBytes / 4)
    const estimate = { prompt: PROMPT_TOKENS, completion: most }
    const isReported = this.counts.isReported(this.isDone)
    const charged = (due: 'reported' | 'estimated'): ExpectedCharge => {
      const counts = due === 'reported' ? this.counts.asReported(estimate) : this.counts.asEstimated(estimate)
      const isEstimated = counts.basis === 'estimated'
      return {
        due: isEstimated ? 'estimated' : 'reported',
        counts,
        completionFrom: unsure && isEstimated ? Math.min(least, counts.completion) : counts.completion,
      }
    }
    const nothing: ExpectedCharge = { due: 'nothing', counts: this.counts.asFree(), completionFrom: 0 }
    const said = { text: this.text, reasoning: this.reasoning, refusal: this.refusal }
    const failed = (charge: ExpectedCharge, kept = said): Expected => ({
      outcome: 'broken',
      ...kept,
      calls: [],
      finish: undefined,
      native: undefined,
      isMixed: this.isMixed,
      hasLooseDetails: this.hasLooseDetails,
      charge,
      unsure: doubts,
    })
    const refused: Expected = {
      ...failed(nothing, { text: '', reasoning: '', refusal: '' }),
      outcome: 'refused',
    }
    const hasToken = this.tokens > 0 || isLost
    const hasNoEnd =
      isFinished &&
      !hasToken &&
      !this.hasCounted &&
      this.given !== undefined &&
      meaningOf(this.given.word) === 'unknown'
    if (stream && isLost && !hasNoEnd) {
      const kept = this.isLost ? this.beforeLoss : said
      return failed(charged(isReported ? 'reported' : 'estimated'), this.isBody ? said : kept)
    }
    if (!isFinished || hasNoEnd) {
      if (!stream || !hasToken) return refused
      // A body comes whole or not at all.
      return failed(isReported && this.counts.isComplete ? charged('reported') : nothing)
    }
    const whole = (charge: ExpectedCharge): Expected => {
      const mapped = meaning === 'dropped' || meaning === 'unknown' ? 'stop' : meaning
      const hadCalls = this.book.any || this.hasLostCall || lostCalls.length > 0
      const finish =
        mapped === 'stop' && calls.length > 0
          ? 'tool_calls'
          : mapped === 'tool_calls' && hadCalls && calls.length === 0
            ? 'stop'
            : mapped
      return {
        outcome: 'whole',
        ...said,
        calls,
        finish,
        // Beside a word for calls, `stop` would mean them.
        native: this.hasLostCall && finish !== mapped ? finish : this.given?.native,
        isMixed: this.isMixed,
        hasLooseDetails: this.hasLooseDetails,
        charge,
        unsure: doubts,
      }
    }
    if (isReported) return whole(charged('reported'))
    if (hasToken) return whole(charged('estimated'))
    return this.hasReason ? whole(nothing) : refused
  }

  private losePiece(text: string, before: { text: string; reasoning: string; refusal: string }): void {
    if (!this.isLost) this.beforeLoss = before
    this.isLost = true
    this.lostBytes += bytesOf(text)
  }

  private token(): void {
    this.tokens++
    this.counts.token()
    if (this.given === undefined || this.isContinued) return
    this.isContinued = true
    this.wasContinued = true
  }
}
