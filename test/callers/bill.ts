import type { Prices } from 'compat-router'
import { oraclePrice } from '../simulation/oracle-price.js'
import { isObject, type Json, type JsonObject } from './json.js'
import { fileText, mediaTokens } from './media.js'
import type { ModelPlan, Template } from './scenario.js'
import { countTokens } from './tokens.js'

/** The output for one request, over all its choices. */
export interface Output {
  readonly completion: number
  readonly thinking: number
}

export interface Bill {
  readonly prompt: number
  readonly cacheWrite: number
  readonly completion: number
  readonly reasoning: number
  /** In billionths of a credit, at the provider's own prices, which are the catalogue's. */
  readonly cost: bigint
  /** Billed items other than tokens. */
  readonly extras: readonly string[]
}

const TOKENS_A_MESSAGE = 4
const TOKENS_A_REQUEST = 3
const TOKENS_A_CALL = 8
const TOKENS_A_DOCUMENT = 6
const TOKENS_AN_INPUT = 2
/** For a provider that explains the use of tools to its model. */
const TOKENS_WITH_TOOLS = { openai: 0, anthropic: 530, 'ai-sdk': 0 }
const EXTRA_COST = 10_000_000n

/** How a provider counts: the tokens of text, and of a result of a tool as the template writes it. */
interface Counting {
  text(text: string): number
  result(text: string): number
  readonly aPart: number
  readonly aDocument: number
}

function countingOf({ actual: { template, tokenizer } }: ModelPlan): Counting {
  const text = (read: string): number => countTokens(tokenizer, read)
  return {
    text,
    result: (given) => text(template.resultsAsJson ? writeJson(given, template) : given),
    aPart: template.joinsParts ? 2 : 0,
    aDocument: template.joinsParts ? TOKENS_A_DOCUMENT : 0,
  }
}

/** JSON as a chat template writes it, with the escapes of its language. */
function writeJson(value: Json, { escapes }: Template): string {
  const json = JSON.stringify(value)
  if (escapes === undefined) return json
  const escaped = escapes === 'ascii' ? /[\u0080-\uffff]/g : /[<>&\u2028\u2029]/g
  return json.replace(escaped, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The model reads everything that arrives, so everything is counted. */
export function promptTokens(body: JsonObject, model: ModelPlan): number {
  const { actual, language } = model
  const counting = countingOf(model)
  const count = counting.text
  let tokens = TOKENS_A_REQUEST
  if (typeof body.system === 'string') tokens += count(body.system)
  if (Array.isArray(body.system)) tokens += partTokens(body.system, counting, count)
  for (const message of listIn(body, 'messages')) {
    tokens += TOKENS_A_MESSAGE
    if (isObject(message)) tokens += messageTokens(message, counting)
  }
  const tools = [...listIn(body, 'tools'), ...listIn(body, 'functions')]
  if (tools.length > 0) tokens += TOKENS_WITH_TOOLS[language]
  // Providers write tools more briefly than this.
  for (const tool of tools) tokens += count(writeJson(tool, actual.template))
  for (const name of ['response_format', 'output_config', 'documents', 'prompt', 'input', 'instructions']) {
    const value = body[name]
    if (value !== undefined && value !== null) tokens += count(JSON.stringify(value))
  }
  return tokens
}

/** The tokens of texts to embed, or the tokens themselves. */
export function inputTokens({ input }: JsonObject, { actual }: ModelPlan): number {
  const items = [input!].flat(2) as readonly (string | number)[]
  return items.reduce<number>(
    (sum, item) =>
      sum + (typeof item === 'string' ? countTokens(actual.tokenizer, item) + TOKENS_AN_INPUT : 1),
    0,
  )
}

function messageTokens(message: JsonObject, counting: Counting): number {
  const count = message.role === 'tool' ? counting.result : counting.text
  let tokens = 0
  for (const [name, value] of Object.entries(message)) {
    if (name === 'role' || name === 'tool_call_id') continue
    if (name === 'tool_calls' && Array.isArray(value)) {
      for (const call of value as readonly Json[]) {
        const made = isObject(call) ? call.function : undefined
        tokens += TOKENS_A_CALL
        if (isObject(made)) tokens += count(String(made.name)) + count(String(made.arguments))
      }
    } else if (Array.isArray(value)) tokens += partTokens(value as readonly Json[], counting, count)
    else if (typeof value === 'string') tokens += count(value)
    else if (value !== null) tokens += count(JSON.stringify(value))
  }
  return tokens
}

function partTokens(
  parts: readonly Json[],
  counting: Counting,
  count: (text: string) => number = counting.text,
): number {
  let tokens = 0
  for (const part of parts) {
    if (typeof part === 'string') tokens += count(part)
    if (!isObject(part)) continue
    const read = fileText(part)
    tokens += mediaTokens(part) + (read === undefined ? counting.aPart : count(read) + counting.aDocument)
    for (const name of ['text', 'refusal', 'thinking'])
      if (typeof part[name] === 'string') tokens += count(part[name])
    if (part.type === 'tool_use') tokens += count(JSON.stringify(part.input))
    const inner = part.type === 'tool_result' ? counting.result : count
    if (typeof part.content === 'string') tokens += inner(part.content)
    if (Array.isArray(part.content)) tokens += partTokens(part.content as readonly Json[], counting, inner)
  }
  return tokens
}

function listIn(body: JsonObject, name: string): readonly Json[] {
  const value = body[name]
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

const BOUNDS = ['max_tokens', 'max_completion_tokens']
/** Other servers' names for the output limit. A server that knows several uses the largest. */
const OTHER_BOUNDS = [
  'max_output_tokens',
  'max_new_tokens',
  'maxTokens',
  'n_predict',
  'num_predict',
  'max_length',
]

/** The most output tokens of one choice, by the request that arrived and the model's maximum. */
export function outputBound(body: JsonObject, { actual }: ModelPlan): number {
  const asked = [...BOUNDS, ...OTHER_BOUNDS].map((name) => body[name]).filter(isPositive)
  return Math.min(actual.maxOutputTokens, asked.length === 0 ? Infinity : Math.max(...asked))
}

/** The most thinking that the request allows on top of the limit. */
export function thinkingBudget(body: JsonObject): number {
  const within = (name: string): JsonObject => {
    const value = body[name]
    return isObject(value) ? value : {}
  }
  const budgets = [
    within('thinking').budget_tokens,
    within('reasoning').max_tokens,
    within('chat_template_kwargs').thinking_budget,
    body.thinking_budget,
  ]
  return Math.max(0, ...budgets.filter(isPositive))
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}

/** Tokens of a text that the client predicted. No prediction matched, and all are billed. */
export function rejectedPrediction(body: JsonObject, model: ModelPlan): number {
  const { actual } = model
  const { prediction } = body
  if (!isObject(prediction)) return 0
  const { content } = prediction
  if (typeof content === 'string') return countTokens(actual.tokenizer, content)
  return partTokens(Array.isArray(content) ? (content as readonly Json[]) : [], countingOf(model))
}

export function makeBill(
  body: JsonObject,
  model: ModelPlan,
  { completion, thinking }: Output,
  prompt = promptTokens(body, model),
): Bill {
  const { prices } = model.catalogue
  const longest = longestCache(body)
  const cacheWrite = longest === undefined ? 0 : prompt
  // The provider's price of cache writes does not depend on the catalogue.
  const own: Prices =
    longest === undefined
      ? prices
      : {
          ...prices,
          cacheWrite: times(prices.input, longest),
          ...(prices.tiers && { tiers: tiersFor(prices, longest) }),
        }
  const usage = { prompt, cached: 0, cacheWrite, completion, reasoning: thinking }
  const { cost } = oraclePrice(usage, { prices: own, markup: undefined, byokFee: undefined })
  const extras = extrasIn(body)
  return {
    prompt,
    cacheWrite,
    completion,
    reasoning: thinking,
    cost: cost + EXTRA_COST * BigInt(extras.length),
    extras,
  }
}

/** The multiple of the input price for a cache write: 1.25 for five minutes, 2 for an hour. */
function longestCache(body: JsonObject): number | undefined {
  const text = JSON.stringify(body)
  if (!text.includes('"cache_control":{')) return undefined
  return text.includes('"ttl":"1h"') ? 2 : 1.25
}

function tiersFor(prices: Prices, factor: number) {
  return prices.tiers!.map((tier) => ({ ...tier, cacheWrite: times(tier.input, factor) }))
}

function times(price: string, factor: number): string {
  return (Number(price) * factor).toFixed(9)
}

/** Things for which some provider bills extra if they arrive. */
const BILLED: readonly (readonly [name: string, (value: Json) => boolean])[] = [
  ['plugins', () => true],
  ['web_search_options', () => true],
  ['web_search', Boolean],
  ['enable_search', Boolean],
  ['search_parameters', () => true],
  ['venice_parameters', () => true],
  ['compound_custom', () => true],
  ['data_sources', () => true],
  ['mcp_servers', () => true],
  ['models', () => true],
  ['fallbacks', () => true],
  ['providerOptions', () => true],
  ['background', Boolean],
  ['store', (value) => value !== false],
  ['speed', (value) => value === 'fast'],
  ['service_tier', (value) => value !== 'default'],
  ['best_of', () => true],
  ['use_beam_search', Boolean],
  ['audio', () => true],
  ['prompt_cache_retention', (value) => value === '24h'],
]
const FREE_TOOLS: readonly Json[] = ['function', 'custom']

function extrasIn(body: JsonObject): readonly string[] {
  const fields = BILLED.filter(
    ([name, isBilled]) => body[name] !== undefined && body[name] !== null && isBilled(body[name]),
  )
  // Anthropic's API has tools without a type.
  const tools = listIn(body, 'tools').filter(
    (tool) =>
      !isObject(tool) ||
      (typeof tool.type === 'string' ? !FREE_TOOLS.includes(tool.type) : tool.input_schema === undefined),
  )
  return [...fields.map(([name]) => name), ...tools.map((tool) => `a tool: ${JSON.stringify(tool)}`)]
}
