import { isIP } from 'node:net'
import type { Json, JsonObject } from './json.js'
import { isObject } from './json.js'

/**
 * The fields that may reach a provider with OpenAI's API, written a second time from the documentation.
 * Nothing here is shared with the router, so that a mistake would have to be made twice.
 */
export interface Listing {
  /** Fields that the catalogue names for this model. */
  readonly named: readonly string[]
  /** Whether cache writes have a price of their own. */
  readonly pricesCacheWrites: boolean
}

type Check = (value: Json) => readonly string[]

const none: Check = () => []
const wrong = [' has a wrong type']
const when =
  (test: (value: Json) => boolean): Check =>
  (value) =>
    test(value) ? [] : wrong

const boolean = when((value) => typeof value === 'boolean')
const number = when((value) => typeof value === 'number')
const integer = when((value) => Number.isSafeInteger(value))
const string = when((value) => typeof value === 'string')
const object = when(isObject)
const oneOf = (...values: readonly Json[]): Check => when((value) => values.includes(value))
const either =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value).length === 0) ? [] : checks.at(-1)!(value)
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => check(item).map((where) => `.${index}${where}`))
      : wrong
const members =
  (known: Readonly<Record<string, Check>>): Check =>
  (value) => {
    if (!isObject(value)) return wrong
    return Object.entries(value).flatMap(([name, member]) => {
      if (member === null) return []
      if (!Object.hasOwn(known, name)) return [`.${name} is not listed`]
      return known[name]!(member).map((where) => `.${name}${where}`)
    })
  }

const NUMBERS =
  'temperature top_p frequency_penalty presence_penalty top_k min_p top_a typical_p tfs_z repetition_penalty repeat_penalty repeat_last_n epsilon_cutoff eta_cutoff mirostat mirostat_tau mirostat_eta dynatemp_range dynatemp_exponent dry_multiplier dry_base dry_allowed_length dry_penalty_last_n xtc_probability xtc_threshold'
const BOOLEANS =
  'stream parallel_tool_calls do_sample skip_special_tokens include_stop_str_in_output tool_stream include_reasoning reasoning_split enable_thinking safe_prompt'
const fromNames = (names: string, check: Check) =>
  Object.fromEntries(names.split(' ').map((name) => [name, check]))

const bound = when((value) => Number.isSafeInteger(value) && (value as number) >= 1)

const address: Check = (value) => {
  if (typeof value !== 'string') return wrong
  if (/^data:/i.test(value)) return []
  if (!URL.canParse(value)) return [' is no address']
  const { hostname, protocol } = new URL(value)
  const host = hostname.replace(/^\[|\]$/g, '')
  if (protocol !== 'https:') return [` is a ${protocol} address`]
  const isInside = /(^|\.)(localhost|local|internal)$/i.test(host) || (isIP(host) !== 0 && isPrivate(host))
  return isInside ? [' is an address inside'] : []
}

function isPrivate(host: string): boolean {
  return /^(0|10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01])|::|f[cde])/i.test(host)
}

const fileData: Check = (value) =>
  typeof value === 'string' && !/^[a-z][a-z0-9+.-]*:/i.test(value) ? [] : address(value)

function checksFor({ pricesCacheWrites }: Listing) {
  const cache: Check = (value) => {
    if (!pricesCacheWrites) return [' is not priced']
    return members({ type: oneOf('ephemeral'), ttl: oneOf('5m') })(value)
  }
  const functionMembers = { name: string, description: string, parameters: none, strict: boolean }
  const call: Check = members({
    id: string,
    type: oneOf('function', 'custom'),
    index: integer,
    function: members({ name: string, arguments: string }),
    custom: members({ name: string, input: string }),
    extra_content: members({ google: members({ thought_signature: string }) }),
  })
  const imageUrl = either(
    address,
    members({ url: address, detail: oneOf('auto', 'low', 'high', 'original') }),
  )
  const parts: Readonly<Record<string, Check>> = {
    text: members({ type: string, text: string, cache_control: cache }),
    image_url: members({ type: string, image_url: imageUrl, cache_control: cache }),
    input_image: members({ type: string, image_url: address, detail: string }),
    input_audio: members({ type: string, input_audio: members({ data: string, format: string }) }),
    file: members({ type: string, file: members({ filename: string, file_data: fileData }) }),
    video_url: members({ type: string, video_url: members({ url: address }) }),
    audio_url: members({ type: string, audio_url: members({ url: address }) }),
    refusal: members({ type: string, refusal: string }),
    thinking: members({ type: string, thinking: none, signature: string }),
    redacted_thinking: members({ type: string, data: string }),
  }
  const part: Check = (value) => {
    if (!isObject(value)) return wrong
    const type = value.type
    if (typeof type !== 'string' || !Object.hasOwn(parts, type)) {
      return [` is a part of type ${JSON.stringify(type)}`]
    }
    return parts[type]!(value)
  }
  const common = {
    role: string,
    content: either(string, listOf(part)),
    name: string,
    cache_control: cache,
  }
  const byRole: Readonly<Record<string, Check>> = {
    assistant: members({
      ...common,
      tool_calls: listOf(call),
      function_call: members({ name: string, arguments: string }),
      refusal: string,
      reasoning: string,
      reasoning_content: string,
      reasoning_details: listOf(object),
      thinking_blocks: listOf(object),
      images: listOf(object),
      prefix: boolean,
      partial: boolean,
    }),
    tool: members({ ...common, tool_call_id: string }),
  }
  const message: Check = (value) => {
    const role = isObject(value) && typeof value.role === 'string' ? value.role : ''
    return (Object.hasOwn(byRole, role) ? byRole[role]! : members(common))(value)
  }
  const tool: Check = (value) => {
    const type = isObject(value) ? value.type : undefined
    if (type === 'function') {
      return members({ type: string, function: members(functionMembers), cache_control: cache })(value)
    }
    if (type === 'custom') {
      const grammar = members({ syntax: oneOf('lark', 'regex'), definition: string })
      const format = members({ type: oneOf('text', 'grammar'), grammar })
      return members({
        type: string,
        custom: members({ name: string, description: string, format }),
        cache_control: cache,
      })(value)
    }
    return [` is a tool of type ${JSON.stringify(type)}`]
  }
  const named = members({ name: string })
  const toolChoice: Check = either(
    oneOf('none', 'auto', 'required', 'any'),
    members({
      type: oneOf('function', 'custom', 'allowed_tools'),
      function: named,
      custom: named,
      allowed_tools: members({
        mode: oneOf('auto', 'required'),
        tools: listOf(members({ type: oneOf('function', 'custom'), function: named, custom: named })),
      }),
    }),
  )
  const known: Readonly<Record<string, Check>> = {
    ...fromNames(NUMBERS, number),
    ...fromNames(BOOLEANS, boolean),
    model: string,
    messages: listOf(message),
    stream_options: members({ include_usage: boolean, include_obfuscation: boolean }),
    n: integer,
    max_tokens: bound,
    max_completion_tokens: bound,
    stop: either(string, listOf(string)),
    seed: integer,
    random_seed: integer,
    logit_bias: object,
    logprobs: either(boolean, integer),
    top_logprobs: integer,
    dry_sequence_breakers: listOf(string),
    stop_token_ids: listOf(integer),
    tools: listOf(tool),
    functions: listOf(members(functionMembers)),
    tool_choice: toolChoice,
    function_call: either(oneOf('none', 'auto'), named),
    response_format: members({
      type: oneOf('text', 'json_object', 'json_schema'),
      schema: none,
      json_schema: members({ name: string, description: string, strict: boolean, schema: none }),
    }),
    reasoning_effort: string,
    reasoning: members({
      effort: string,
      max_tokens: integer,
      exclude: boolean,
      enabled: boolean,
      summary: string,
      generate_summary: string,
    }),
    reasoning_format: oneOf('hidden', 'raw', 'parsed'),
    thinking: members({
      type: oneOf('enabled', 'disabled', 'adaptive', 'auto'),
      budget_tokens: integer,
      display: string,
    }),
    thinking_budget: integer,
    chat_template_kwargs: members({
      ...fromNames('enable_thinking thinking preserve_thinking clear_thinking', boolean),
      reasoning_effort: string,
      thinking_budget: integer,
    }),
    verbosity: oneOf('low', 'medium', 'high'),
    prompt_mode: oneOf('reasoning'),
    prediction: members({ type: oneOf('content'), content: none }),
    prompt_cache_key: string,
    prompt_cache_retention: oneOf('in_memory', 'in-memory'),
    metadata: (value) =>
      isObject(value) && Object.values(value).every((item) => typeof item === 'string' && item.length <= 512)
        ? []
        : wrong,
    user: string,
    safety_identifier: string,
    // The harmless values of these fields may arrive or not.
    store: oneOf(false),
    modalities: when((value) => JSON.stringify(value) === '["text"]'),
    cache_control: cache,
  }
  return known
}

/** Paths in an arrived request that are not allowed, each with the reason. */
export function unlistedIn(body: JsonObject, listing: Listing): readonly string[] {
  const known = checksFor(listing)
  const named = Object.fromEntries(listing.named.map((name) => [name, known[name] ?? none]))
  return members({ ...known, ...named })(body).map((where) => where.slice(1))
}

/** The same for a request for embeddings. */
export function unlistedInEmbeddings(body: JsonObject, { named }: Listing): readonly string[] {
  const known = {
    model: string,
    input: either(string, listOf(string), listOf(integer), listOf(listOf(integer))),
    dimensions: integer,
    encoding_format: oneOf('float', 'base64'),
    user: string,
    ...Object.fromEntries(named.map((name) => [name, none])),
  }
  return members(known)(body).map((where) => where.slice(1))
}
