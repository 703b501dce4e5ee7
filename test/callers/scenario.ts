import { type Prices, parseCredits } from 'compat-router'
import type { Limit, MemoryModel } from 'compat-router/stores'
import { createRandom, type Random } from '../simulation/random.js'
import { REAL_TOKENIZERS, type Tokenizer } from './tokens.js'

/** How a provider's chat template turns a request into the text that the model reads. */
export interface Template {
  /** Whether results of tools are JSON, as in Llama's templates. */
  readonly resultsAsJson: boolean
  /** Whether parts are joined by line feeds, and documents put between tags. */
  readonly joinsParts: boolean
  /** The characters that its language writes as escapes in JSON. */
  readonly escapes: 'ascii' | 'html' | undefined
}

const PLAIN_TEMPLATE: Template = { resultsAsJson: false, joinsParts: false, escapes: undefined }

/** The real properties of a provider's model, whatever the catalogue lists. */
export interface TrueModel {
  readonly tokenizer: Tokenizer
  /** Longer prompts, in tokens, are refused. */
  readonly contextLength: number
  readonly maxOutputTokens: number
  readonly template: Template
  /** Whether thinking is billed on top of the output limit, up to the budget in the request. */
  readonly thinksOutside: boolean
}

export interface RoutePlan {
  readonly provider: string
  readonly onDisconnect: 'abort' | 'drain'
  /**
   * How the provider knows the host: by the adapter's own key, by a header that the host has set, or not at
   * all. Callers' keys may be used only on the first kind.
   */
  readonly credential: 'key' | 'header' | 'none'
}

export interface ModelPlan {
  readonly id: string
  readonly language: 'openai' | 'anthropic' | 'ai-sdk'
  readonly catalogue: MemoryModel & { readonly prices: Prices }
  readonly actual: TrueModel
  readonly routes: readonly RoutePlan[]
}

export interface Scenario {
  readonly seed: string
  readonly neverOverdraw: boolean
  /** Whether providers fail by themselves. If not, the health of every route must stay unchanged. */
  readonly isFlaky: boolean
  readonly models: readonly ModelPlan[]
  /** Accounts of callers that try to pay less. */
  readonly callers: readonly string[]
  /** The limits of some of their keys, which refuse a part of their calls. */
  readonly limits: Readonly<Record<string, readonly Limit[]>>
}

export const HONEST = 'honest'
/** Has a budget that pays for anything, and makes honest calls without an output limit. */
export const RICH = 'rich'
/** Has no credit. */
export const POOR = 'poor'
/** Uses an app that may not see the balance, and has little credit. */
export const APP_USER = 'app-user'

/** The opening balances of the accounts that are no callers. */
export const BALANCES: Readonly<Record<string, string>> = {
  [HONEST]: '1000000',
  [RICH]: '1000000',
  [POOR]: '0',
  [APP_USER]: '0.731946128',
}
/** A caller's own key that its provider knows. */
export const OWN_KEY = 'sk-own-and-valid-2f61a0b7'
export const HOST_KEY = 'sk-host-8d0c41e6b7f2'
export const HOST_HEADER = 'x-gateway-key'
export const UPSTREAM_MODEL = 'upstream-2026'

const CONTEXTS = [8_000, 32_000, 128_000, 1_000_000]
const MAX_OUTPUTS = [1_000, 4_096, 16_384, 64_000]

export function makeScenario(seed: string): Scenario {
  const random = createRandom(`scenario ${seed}`)
  const neverOverdraw = random.chance(0.5)
  const callers = ['mallory', 'oscar', 'trudy']
  const limits = makeLimits(createRandom(`limits ${seed}`), callers)
  const isBounded = neverOverdraw || Object.values(limits).some(hasBudget)
  limits[RICH] = [{ id: `${RICH}-budget`, unit: 'credits', amount: parseCredits('1000000'), per: 'total' }]
  return {
    seed,
    neverOverdraw,
    isFlaky: random.chance(0.25),
    models: [
      makeModel(random, 'acme/full', 'openai', neverOverdraw, isBounded, true),
      makeModel(random, 'acme/some', 'openai', neverOverdraw, isBounded, false),
      random.chance(0.5)
        ? makeModel(random, 'acme/claude', 'anthropic', neverOverdraw, isBounded, true)
        : makeModel(random, 'acme/sdk', 'ai-sdk', neverOverdraw, isBounded, true),
    ],
    callers,
    limits,
  }
}

/** Whether no call of this account may cost more than its hold. */
export function isBounded({ limits, neverOverdraw }: Scenario, account: string): boolean {
  return neverOverdraw || hasBudget(limits[account] ?? [])
}

function hasBudget(limits: readonly Limit[]): boolean {
  return limits.some(({ unit }) => unit === 'credits')
}

/** A caller has about 20 calls in a world. */
function makeLimits(random: Random, callers: readonly string[]): Record<string, readonly Limit[]> {
  const limits: Record<string, readonly Limit[]> = {}
  for (const account of callers) {
    if (random.chance(0.7)) continue
    const per = random.pick(['minute', 'total'] as const)
    const budget = parseCredits(random.pick(['0.02', '0.5', '20']))
    limits[account] = [
      { id: `${account}-rate`, unit: 'requests', amount: BigInt(random.int(3, 15)), per },
      ...(random.chance(0.5)
        ? [{ id: `${account}-budget`, unit: 'credits', amount: budget, per: 'total' } as const]
        : []),
      ...(random.chance(0.5)
        ? [
            {
              id: `${account}-tokens`,
              unit: 'tokens',
              amount: BigInt(random.pick([20_000, 1_000_000])),
              per,
            } as const,
          ]
        : []),
    ]
  }
  return limits
}

function makeModel(
  random: Random,
  id: string,
  language: ModelPlan['language'],
  neverOverdraw: boolean,
  isBounded: boolean,
  isListed: boolean,
): ModelPlan {
  const more = createRandom(`template ${id} ${random.next()}`)
  const actual: TrueModel = {
    template:
      // Other holds are no upper bounds.
      neverOverdraw && language === 'openai' ? makeTemplate(more) : PLAIN_TEMPLATE,
    tokenizer: neverOverdraw && random.chance(0.3) ? 'bytes-after-nfkc' : random.pick(REAL_TOKENIZERS),
    contextLength: random.pick(CONTEXTS),
    maxOutputTokens: random.pick(MAX_OUTPUTS),
    thinksOutside: language === 'openai' && random.chance(0.4),
  }
  return {
    id,
    language,
    actual,
    catalogue: {
      id,
      prices: makePrices(random),
      priceVersion: '1',
      ...listedLimits(random, actual, isBounded, isListed),
    },
    routes: makeRoutes(random, id, language),
  }
}

function makeTemplate(random: Random): Template {
  return {
    resultsAsJson: random.chance(0.5),
    joinsParts: random.chance(0.5),
    escapes: random.chance(0.5) ? undefined : random.pick(['ascii', 'html'] as const),
  }
}

/**
 * Some catalogues list everything, some little, and some less than is true. That can harm a host only with
 * `neverOverdraw` or budgets.
 */
function listedLimits(random: Random, actual: TrueModel, isBounded: boolean, isListed: boolean) {
  const { contextLength, maxOutputTokens } = actual
  const media = random.chance(0.3)
    ? { mediaTokens: random.chance(0.5) ? MOST_MEDIA_TOKENS : MOST_TOKENS_OF_KINDS }
    : {}
  if (isListed) return { contextLength, maxOutputTokens, ...media }
  const supported = random.chance(0.3) ? { supportedParameters: SUPPORTED } : {}
  const asTrue = isBounded || random.chance(0.4)
  return {
    ...supported,
    ...media,
    ...(random.chance(0.6) && { contextLength: asTrue ? contextLength : Math.ceil(contextLength / 16) }),
    ...(random.chance(0.6) && { maxOutputTokens: asTrue ? maxOutputTokens : Math.ceil(maxOutputTokens / 8) }),
  }
}

/** An hour of video. */
const MOST_MEDIA_TOKENS = 950_000
/** A picture of 8,000 pixels, an hour, and 900 pages. */
const MOST_TOKENS_OF_KINDS = {
  image: 32_000,
  audio: 116_000,
  video: 950_000,
  pdf: 690_000,
  archive: 690_000,
}

/** As the documents show it, with the fields of the honest bodies. */
const SUPPORTED = [
  ...['temperature', 'max_tokens', 'tools', 'tool_choice', 'response_format', 'stop', 'seed'],
  ...[
    'functions',
    'function_call',
    'top_p',
    'reasoning_effort',
    'n',
    'frequency_penalty',
    'presence_penalty',
  ],
]

function makePrices(random: Random): Prices {
  const input = random.pick(['0.15', '2', '10'])
  const output = random.pick(['0.6', '8', '40'])
  return {
    input,
    output,
    ...(random.chance(0.4) && { cachedInput: String(Number(input) / 2) }),
    ...(random.chance(0.5) && { cacheWrite: String(Number(input) * 1.25) }),
    ...(random.chance(0.3) && { reasoning: String(Number(output) * 2) }),
    ...(random.chance(0.3) && { request: '0.001' }),
    ...(random.chance(0.2) && {
      tiers: [{ above: 3_000, input: String(Number(input) * 2), output: String(Number(output) * 2) }],
    }),
  }
}

function makeRoutes(random: Random, id: string, language: ModelPlan['language']): readonly RoutePlan[] {
  const name = id.replace('acme/', '')
  const first: RoutePlan = {
    provider: `${name}-one`,
    onDisconnect: random.chance(0.2) ? 'abort' : 'drain',
    credential: 'key',
  }
  if (random.chance(0.4)) return [first]
  const credential =
    language === 'openai' ? random.pick(['key', 'header', 'none'] as const) : ('key' as const)
  return [first, { provider: `${name}-two`, onDisconnect: 'drain', credential }]
}
