import type { CreateHistogram, Histogram } from './histograms.js'
import { DURATION_BUCKETS, FIRST_TOKEN_BUCKETS, PER_TOKEN_BUCKETS, TOKEN_BUCKETS } from './names.js'

/** All that is measured of calls. */
export class CallHistograms {
  readonly duration: Histogram
  readonly firstToken: Histogram
  readonly perToken: Histogram
  readonly tokenUsage: Histogram

  constructor(create: CreateHistogram) {
    const seconds = (name: string, description: string, boundaries: number[]) =>
      create({ name, unit: 's', description, boundaries })
    this.duration = seconds(
      'gen_ai.server.request.duration',
      'From a request to the end of its reply.',
      DURATION_BUCKETS,
    )
    this.firstToken = seconds(
      'gen_ai.server.time_to_first_token',
      'From dialling a provider to its first token, of streams that were completed.',
      FIRST_TOKEN_BUCKETS,
    )
    this.perToken = seconds(
      'gen_ai.server.time_per_output_token',
      'Time for each output token after the first, of streams that were completed.',
      PER_TOKEN_BUCKETS,
    )
    this.tokenUsage = create({
      name: 'gen_ai.client.token.usage',
      unit: '{token}',
      description: 'Tokens of a call, as they were charged.',
      boundaries: TOKEN_BUCKETS,
    })
  }
}
