import * as z from 'zod'
import { ExactInteger } from '../exact-data.js'
import { cacheControl, type Member } from './reading.js'
import { functionChoice, functions, responseFormat, toolChoice, tools } from './tools.js'

/** A field of a request that reaches providers even if the host does not name it. */
export interface KnownField {
  /** One sentence that explains why a caller cannot use it to choose the cost of a call or its provider. */
  readonly why: string
  /** The accepted values, in words. */
  readonly takes: string
  /** Checks a value. Its result is sent. */
  readonly schema: z.ZodType
  /** Checks a value instead of the schema, which then only describes it. */
  readonly read?: Member
  /** Whether this value has no effect, so that a host's list need not name the field. */
  readonly isNeutral?: (value: unknown) => boolean
  /** Whether the host must name the field to allow this value. */
  readonly mustBeNamed?: (value: unknown) => boolean
  /** Whether the field is accepted but not sent. */
  readonly isDropped?: true
}

const always = (): boolean => true
const is =
  (...neutral: readonly unknown[]) =>
  (value: unknown): boolean =>
    neutral.includes(value)

const rule = (takes: string) => ({ error: `must be ${takes}` })

const SAMPLING = 'It only changes which tokens are chosen.'
const SHORTER = 'It can only end a reply sooner.'
const SHAPE = 'It only changes the shape of the reply.'
const LABEL = 'It is only a label.'
const OUTPUT = 'It only changes the amount of output, which has a price.'
const ONLY_THE_DEFAULT = 'It only asks for the default.'

function number(why = SAMPLING, isNeutral?: KnownField['isNeutral']): KnownField {
  return { why, takes: 'a number', schema: z.number(rule('a number')), ...(isNeutral && { isNeutral }) }
}

function integer(why: string): KnownField {
  return { why, takes: 'an integer', schema: z.int(rule('an integer')) }
}

/** A seed may have more digits than a number of JavaScript. */
const readSeed: Member = (value, place, { faults }) => {
  if (!Number.isSafeInteger(value) && !(value instanceof ExactInteger))
    faults.add(place, 'must be an integer')
  return value
}

function flag(why: string, isNeutral?: KnownField['isNeutral']): KnownField {
  return { why, takes: 'a boolean', schema: z.boolean(rule('a boolean')), ...(isNeutral && { isNeutral }) }
}

function words(takes: string, why: string, schema: z.ZodType, more: Partial<KnownField> = {}): KnownField {
  return { why, takes, schema, ...more }
}

const BOUND = 'an integer from 1 to 9007199254740991, or -1 for none'
const bound = words(
  BOUND,
  'It is the output limit that the hold covers.',
  z
    .int(rule(BOUND))
    .refine((value) => value === -1 || value >= 1, rule(BOUND))
    .transform((value) => (value === -1 ? undefined : value)),
)

const stops = 'a string or up to 16 strings'
const wordsOfLetters = 'a word of up to 16 lowercase letters'
const word = z.string(rule(wordsOfLetters)).regex(/^[a-z]{1,16}$/, rule(wordsOfLetters))
const someIntegers = 'up to 64 integers'
const someStrings = 'up to 64 strings'
const biases = 'an object of up to 1,024 numbers'
const labels = 'an object of up to 16 strings, each of up to 512 characters'
const topLogprobs = 'an integer from 0 to 20'
const someTools = 'a list of up to 1,024 tools'
const textOrParts = 'a string or a list of text parts'

const reasoning = z.object(
  {
    effort: word.nullish(),
    max_tokens: z.int(rule('an integer')).min(0, rule('a non-negative integer')).nullish(),
    exclude: z.boolean(rule('a boolean')).nullish(),
    enabled: z.boolean(rule('a boolean')).nullish(),
    summary: z.string(rule('a string')).nullish(),
    generate_summary: z.string(rule('a string')).nullish(),
  },
  rule('an object'),
)

const thinking = z.object(
  {
    type: z.enum(['enabled', 'disabled', 'adaptive', 'auto'], rule('enabled, disabled, adaptive or auto')),
    budget_tokens: z.int(rule('an integer')).min(0, rule('a non-negative integer')).nullish(),
    display: z.string(rule('a string')).nullish(),
  },
  rule('an object with a type'),
)

const templateFlag = z.boolean(rule('a boolean')).nullish()
const templateArguments = z.strictObject(
  {
    enable_thinking: templateFlag,
    thinking: templateFlag,
    preserve_thinking: templateFlag,
    clear_thinking: templateFlag,
    reasoning_effort: word.nullish(),
    thinking_budget: z.int(rule('an integer')).min(0, rule('a non-negative integer')).nullish(),
  },
  rule('an object'),
)

const textPart = z.object({ type: z.literal('text', rule('text')), text: z.string(rule('a string')) })
const prediction = z.object(
  {
    type: z.literal('content', rule('content')),
    content: z.union([z.string(), z.array(textPart).max(1_000)], rule(textOrParts)),
  },
  rule('an object with a type and content'),
)

const objects = z.array(z.looseObject({}))
const wordOrObject = z.union([z.string(), z.looseObject({})])

/**
 * The request fields that may be sent to every provider, besides `model` and `messages`. A field is added here only if it
 * shapes the reply and nothing else. docs/request-fields.md shows this table.
 */
export const KNOWN_FIELDS: ReadonlyMap<string, KnownField> = new Map(
  Object.entries({
    stream: words('a boolean', SHAPE, z.boolean(rule('a boolean')), { isNeutral: always }),
    n: words(
      'an integer from 1 to 128',
      'The hold covers every choice.',
      z
        .int(rule('an integer from 1 to 128'))
        .min(1, rule('an integer from 1 to 128'))
        .max(128, rule('an integer from 1 to 128')),
      { isNeutral: is(1) },
    ),
    max_tokens: bound,
    max_completion_tokens: bound,
    temperature: number(),
    top_p: number(SAMPLING, is(1)),
    frequency_penalty: number(SAMPLING, is(0)),
    presence_penalty: number(SAMPLING, is(0)),
    stop: words(stops, SHORTER, z.union([z.string(), z.array(z.string()).max(16)], rule(stops))),
    seed: { ...integer(SAMPLING), read: readSeed },
    random_seed: { ...integer(SAMPLING), read: readSeed },
    logit_bias: words(
      biases,
      SAMPLING,
      z
        .record(z.string(), z.number(), rule(biases))
        .refine((all) => Object.keys(all).length <= 1_024, rule(biases)),
    ),
    logprobs: words(
      `a boolean or ${topLogprobs}`,
      'It makes the reply longer, but adds no tokens.',
      z.union([z.boolean(), z.int().min(0).max(20)], rule(`a boolean or ${topLogprobs}`)),
      { isNeutral: is(false, 0) },
    ),
    top_logprobs: words(
      topLogprobs,
      'It makes the reply longer, but adds no tokens.',
      z.int(rule(topLogprobs)).min(0, rule(topLogprobs)).max(20, rule(topLogprobs)),
      { isNeutral: is(0) },
    ),
    ...Object.fromEntries(
      (
        'top_k min_p top_a typical_p tfs_z repetition_penalty repeat_penalty repeat_last_n epsilon_cutoff ' +
        'eta_cutoff mirostat mirostat_tau mirostat_eta dynatemp_range dynatemp_exponent dry_multiplier dry_base ' +
        'dry_allowed_length dry_penalty_last_n xtc_probability xtc_threshold'
      )
        .split(' ')
        .map((field) => [field, number()]),
    ),
    dry_sequence_breakers: words(
      someStrings,
      SAMPLING,
      z.array(z.string(), rule(someStrings)).max(64, rule(someStrings)),
    ),
    stop_token_ids: words(
      someIntegers,
      SHORTER,
      z.array(z.int(), rule(someIntegers)).max(64, rule(someIntegers)),
    ),
    do_sample: flag(SAMPLING),
    skip_special_tokens: flag(SHAPE),
    include_stop_str_in_output: flag(SHAPE),
    tool_stream: flag(SHAPE),
    tools: words(
      someTools,
      'The hold covers the text of the tools, and only tools that the client runs are accepted.',
      objects,
      {
        read: tools,
      },
    ),
    functions: words('a list of up to 1,024 functions', 'The hold covers its text.', objects, {
      read: functions,
    }),
    tool_choice: words(
      'none, auto, required, any or a tool',
      'It chooses among the tools of the request.',
      wordOrObject,
      {
        read: toolChoice,
        isNeutral: is('auto'),
      },
    ),
    function_call: words(
      'none, auto or { name }',
      'It chooses among the functions of the request.',
      wordOrObject,
      {
        read: functionChoice,
        isNeutral: is('auto'),
      },
    ),
    parallel_tool_calls: flag(SHAPE, is(true)),
    response_format: words(
      '{ type: text, json_object or json_schema }',
      'The hold covers its text.',
      z.looseObject({ type: z.string() }),
      {
        read: responseFormat,
        isNeutral: (value) => (value as { type?: unknown }).type === 'text',
      },
    ),
    reasoning_effort: words(wordsOfLetters, OUTPUT, word),
    reasoning: words(
      '{ effort, max_tokens, exclude, enabled, summary, generate_summary }',
      OUTPUT,
      reasoning,
    ),
    include_reasoning: flag(SHAPE, always),
    reasoning_format: words(
      'hidden, raw or parsed',
      SHAPE,
      z.enum(['hidden', 'raw', 'parsed'], rule('hidden, raw or parsed')),
    ),
    reasoning_split: flag(SHAPE),
    thinking: words('{ type, budget_tokens, display }', 'The hold covers its budget.', thinking),
    enable_thinking: flag(OUTPUT),
    thinking_budget: words(
      'a non-negative integer',
      'The hold covers it.',
      z.int(rule('a non-negative integer')).min(0, rule('a non-negative integer')),
    ),
    chat_template_kwargs: words(
      '{ enable_thinking, thinking, preserve_thinking, clear_thinking, reasoning_effort, thinking_budget }',
      'These members only control reasoning, and the hold covers its budget.',
      templateArguments,
    ),
    verbosity: words(
      'low, medium or high',
      OUTPUT,
      z.enum(['low', 'medium', 'high'], rule('low, medium or high')),
    ),
    prompt_mode: words('reasoning', OUTPUT, z.literal('reasoning', rule('reasoning'))),
    safe_prompt: flag('The hold has a margin for the text that it adds.'),
    prediction: words(
      '{ type, content }',
      'Rejected tokens are billed as output, and the hold covers them.',
      prediction,
    ),
    prompt_cache_key: words(
      'a string of up to 1,024 bytes',
      'It can only make a prompt cheaper.',
      z
        .string(rule('a string of up to 1,024 bytes'))
        .refine((key) => Buffer.byteLength(key) <= 1_024, rule('a string of up to 1,024 bytes')),
      { isNeutral: always },
    ),
    prompt_cache_retention: words(
      'in_memory, in-memory or 24h',
      'A cache in memory is not billed. A host must name the field to allow 24h.',
      z.enum(['in_memory', 'in-memory', '24h'], rule('in_memory, in-memory or 24h')),
      { isNeutral: always, mustBeNamed: is('24h') },
    ),
    metadata: words(
      labels,
      LABEL,
      z
        .record(z.string().max(512), z.string().max(512), rule(labels))
        .refine((all) => Object.keys(all).length <= 16, rule(labels)),
      { isNeutral: always },
    ),
    user: words('a string', LABEL, z.string(rule('a string')), { isNeutral: always }),
    safety_identifier: words('a string', LABEL, z.string(rule('a string')), { isNeutral: always }),
    store: words(
      'a boolean',
      `${ONLY_THE_DEFAULT} A host must name the field to allow true.`,
      z.boolean(rule('a boolean')),
      {
        isNeutral: always,
        mustBeNamed: is(true),
        isDropped: true,
      },
    ),
    service_tier: words(
      'a string',
      `${ONLY_THE_DEFAULT} A host must name the field to allow other values than auto and default.`,
      z.string(rule('a string')),
      { isNeutral: always, mustBeNamed: (tier) => tier !== 'auto' && tier !== 'default', isDropped: true },
    ),
    modalities: words(
      'a list of strings',
      `${ONLY_THE_DEFAULT} A host must name the field to allow more than text.`,
      z.array(z.string(), rule('a list of strings')).max(16, rule('a list of up to 16 strings')),
      {
        isNeutral: always,
        mustBeNamed: (value) => (value as readonly string[]).some((modality) => modality !== 'text'),
        isDropped: true,
      },
    ),
    stream_options: words('an object', 'The usage is always sent.', z.looseObject({}, rule('an object')), {
      isNeutral: always,
      isDropped: true,
    }),
    usage: words('{ include }', 'The usage is always sent.', z.looseObject({}, rule('an object')), {
      isNeutral: always,
      isDropped: true,
    }),
    cache_control: words(
      '{ type: ephemeral, ttl: 5m }',
      'It is sent only to routes with a price for cache writes, and never asks for more than five minutes.',
      z.looseObject({ type: z.string() }),
      { read: cacheControl, isNeutral: always },
    ),
  } satisfies Record<string, KnownField>),
)

/** Whether this value of a field has no effect. */
export function isNeutral(name: string, value: unknown): boolean {
  const field = KNOWN_FIELDS.get(name)
  return field?.isNeutral?.(value) === true && field.mustBeNamed?.(value) !== true
}

/** Fields with the same meaning. A list that names one also allows the other. */
export const SAME_FIELDS: readonly (readonly [string, string])[] = [
  ['max_tokens', 'max_completion_tokens'],
  ['reasoning', 'reasoning_effort'],
]
