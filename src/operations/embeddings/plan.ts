import { CompatError } from '../../base/errors.js'
import type { Model } from '../../contracts/catalogue.js'
import type {
  InputEstimate,
  OutputRange,
  Plan,
  PlanOptions,
  RefusedCall,
  RoutedCall,
} from '../../contracts/operation.js'
import type { ProviderAdapter, Route } from '../../contracts/providers.js'
import type { EmbeddingRequest } from '../../protocol/embedding-request.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'
import { hasMethod } from '../../rules/adapter-methods.js'
import type { AskedEmbeddings } from './read-request.js'
import { EmbeddingsReply } from './reply.js'

/** The most tokens that a model adds to each text. */
const TOKENS_AN_INPUT = 8
/** The most numbers in an embedding of any known model. */
const MOST_DIMENSIONS = 4_096
/** The most bytes of a number in a provider's reply: all digits of a 64-bit float, indented on its own line. */
const NUMBER_BYTES = { numbers: 32, base64: 6 } as const

type EmbeddingsForm = keyof typeof NUMBER_BYTES

/** The fields that have no part in the text of an input, and the input. */
const OWN_FIELDS = new Set(['model', 'input', 'dimensions', 'user'])

const NO_OUTPUT: OutputRange = Object.freeze({ least: 0, usual: 0, most: 0, step: 1 })

/** The plan of one embeddings request with one model. Only the input has a price. */
export class EmbeddingsPlan implements Plan {
  readonly choices = 1
  private estimate: InputEstimate | undefined

  constructor(
    private asked: AskedEmbeddings,
    private readonly model: Model,
    private readonly options: PlanOptions,
  ) {}

  get input(): InputEstimate {
    this.estimate ??= this.estimateInput()
    return this.estimate
  }

  /** A batch of numbers may be longer than any other reply, as far as the memory allows. */
  get replyBytes(): number {
    return Math.min(Math.max(this.options.sizes.replyBytes, this.bytesOf('numbers')), this.mostBytes)
  }

  on({ adapter, upstreamModel }: Route): RoutedCall | RefusedCall | undefined {
    if (!hasMethod(adapter, 'embeddings')) return undefined
    const error = this.tooLarge(adapter)
    if (error !== undefined) return { refused: 'cannot serve so large a request', error }
    return {
      run: (call, _outputTokens, take) => {
        const request: EmbeddingRequest = { ...this.asked.forward, model: upstreamModel }
        return adapter.embeddings(Object.assign(call, { request }), take)
      },
      reply: () => {
        const { count, format, model } = this.asked
        return new EmbeddingsReply({ count, format, model })
      },
    }
  }

  /** Returns the error for more embeddings than fit into a reply of an adapter. */
  private tooLarge({ embeddingsFormat: form = 'numbers' }: ProviderAdapter): CompatError | undefined {
    const { asked, dimensions, mostBytes } = this
    if (this.bytesOf(form) <= mostBytes) return undefined
    const fit = Math.floor(mostBytes / (dimensions * NUMBER_BYTES[form]))
    return new CompatError(
      'invalid_request',
      `input has ${asked.count} inputs, but the embeddings of at most ${fit} fit into one reply, with ${dimensions} numbers each. Send fewer inputs in a request.`,
      { param: 'input' },
    )
  }

  outputOn(): OutputRange {
    return NO_OUTPUT
  }

  /**
   * Embeddings have no output, so prompt and total are the same count. The larger one applies, since some providers
   * omit one or report it as 0.
   */
  usageToCharge(report: UsageReport): UsageReport {
    const { prompt, total } = report
    const isLarger =
      isCount(total) && (isCount(prompt) ? prompt < total : (prompt ?? undefined) === undefined)
    return { ...report, prompt: isLarger ? total : prompt, completion: 0 }
  }

  forget(): void {
    const { forward, ...rest } = this.asked
    this.asked = { ...rest, forward: { model: forward.model, input: '' } }
  }

  private get dimensions(): number {
    return this.asked.forward.dimensions ?? this.model.dimensions ?? MOST_DIMENSIONS
  }

  /** The most bytes of a reply. Received bytes count towards the memory of calls, so no reply may have more. */
  private get mostBytes(): number {
    const { memoryBytes, replyBytes } = this.options.sizes
    return Math.max(memoryBytes, replyBytes)
  }

  private bytesOf(form: EmbeddingsForm): number {
    return this.asked.count * this.dimensions * NUMBER_BYTES[form]
  }

  /**
   * A token in the input counts as one. Text is counted by the counters, and its upper bound needs no factor. A field that
   * needs the host's permission, such as an instruction, may become part of each input.
   */
  private estimateInput(): InputEstimate {
    const { counter, neverOverdraw, upperCounter } = this.options
    const { count, forward } = this.asked
    const charged = counter.tally()
    const upper = (neverOverdraw ? upperCounter : counter).tally()
    let tokens = 0
    for (const item of [forward.input].flat(2) as (string | number)[]) {
      if (typeof item === 'number') tokens++
      else {
        charged.add(item)
        upper.add(item)
      }
    }
    const others = (neverOverdraw ? upperCounter : counter).tally()
    for (const [name, value] of Object.entries(forward)) {
      if (!OWN_FIELDS.has(name)) others.add(typeof value === 'string' ? value : JSON.stringify(value))
    }
    const text = upper.atMost() + count * others.atMost()
    const overhead = count * (this.model.promptOverhead ?? TOKENS_AN_INPUT)
    return {
      hasMedia: false,
      atLeast: tokens + charged.atLeast(),
      atMost: (factor = 1) => Math.ceil(text * (neverOverdraw ? 1 : factor)) + tokens + overhead,
    }
  }
}
