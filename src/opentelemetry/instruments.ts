import type { Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api'

/** The instruments of requests and calls, except those of credits. */
export interface Instruments {
  readonly requests: Counter
  readonly active: UpDownCounter
  readonly attempts: Counter
  readonly tokens: Counter
  readonly overdrafts: Counter
  readonly incidents: Counter
  readonly duration: Histogram
  readonly firstToken: Histogram
  readonly perToken: Histogram
  readonly tokenUsage: Histogram
}

/** The upper bounds of buckets that the conventions require. */
const DURATION_BUCKETS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
const FIRST_TOKEN_BUCKETS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]
const PER_TOKEN_BUCKETS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
const TOKEN_BUCKETS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]

export function createInstruments(meter: Meter): Instruments {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(`compat_router.${name}`, { unit, description })
  const histogram = (name: string, unit: string, description: string, boundaries: number[]) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundaries } })
  return {
    requests: counter('requests', '{request}', 'Requests that were answered.'),
    active: meter.createUpDownCounter('compat_router.requests.active', {
      unit: '{request}',
      description: 'Requests in progress.',
    }),
    attempts: counter('route.attempts', '{attempt}', 'Routes that calls tried.'),
    tokens: counter(
      'tokens',
      '{token}',
      'Tokens that were charged, each under the price that applies to it.',
    ),
    overdrafts: counter('overdrafts', '{call}', 'Charges that took a payer below zero.'),
    incidents: counter('incidents', '{event}', 'Events that an operator may want to see.'),
    duration: histogram(
      'gen_ai.server.request.duration',
      's',
      'From a request to the end of its reply.',
      DURATION_BUCKETS,
    ),
    firstToken: histogram(
      'gen_ai.server.time_to_first_token',
      's',
      'From the request to a provider to its first token, of streams that were completed.',
      FIRST_TOKEN_BUCKETS,
    ),
    perToken: histogram(
      'gen_ai.server.time_per_output_token',
      's',
      'Time for each output token after the first, of streams that were completed.',
      PER_TOKEN_BUCKETS,
    ),
    tokenUsage: histogram(
      'gen_ai.client.token.usage',
      '{token}',
      'Tokens of a call, as they were charged.',
      TOKEN_BUCKETS,
    ),
  }
}
