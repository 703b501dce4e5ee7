import type { Json, Settings, Wire } from './shape.js'

/** One thing that a provider was told, in the order of its request. */
export interface Carried {
  readonly as: 'system' | 'user' | 'assistant' | 'call' | 'result' | 'media' | 'thought'
  /** A text, the input of a call, or the data of a file. */
  readonly text: string
  /** The name of a call's tool, or the input of the call whose result this is. */
  readonly of?: string
  /** What its provider needs back to verify a thought or a call. */
  readonly sealed?: string
}

/** What a provider was told by a request. */
export interface Told {
  readonly carried: readonly Carried[]
  readonly tools: readonly string[]
  /** The ids of all calls. */
  readonly ids: readonly string[]
  readonly settings: Settings
}

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value : [])
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const string = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Reads the request of a provider, however it is written. */
export function readRequest(wire: Wire, body: Json, raw: string): Told {
  return READERS[wire](body, raw)
}

/** The same text for the same input, whoever wrote it. A custom tool may have become a function of one text. */
export function plainInput(input: unknown): string {
  let value = input
  if (input === '') return '{}'
  if (typeof input === 'string') {
    try {
      value = JSON.parse(input)
    } catch {
      return input
    }
  }
  if (typeof value !== 'object' || value === null) return string(input)
  const entries = Object.entries(value)
  const [first] = entries
  if (entries.length === 1 && first?.[0] === 'input' && typeof first[1] === 'string') return first[1]
  return JSON.stringify(value)
}

/** The inputs of calls by their ids, as far as a request has been read. */
class Calls {
  readonly ids: string[] = []
  /** An id may come twice. Its results then belong to its calls in their order. */
  private readonly inputs = new Map<string, { readonly text: string; hasResult: boolean }[]>()

  add(id: unknown, name: unknown, input: unknown): Carried {
    const text = plainInput(input)
    this.ids.push(string(id))
    this.inputs.set(string(id), [...(this.inputs.get(string(id)) ?? []), { text, hasResult: false }])
    return { as: 'call', text, of: string(name) }
  }

  result(id: unknown, text: string): Carried {
    const inputs = this.inputs.get(string(id)) ?? []
    const input = inputs.find(({ hasResult }) => !hasResult) ?? inputs.at(-1)
    if (input !== undefined) input.hasResult = true
    return { as: 'result', text, of: input?.text ?? 'no call' }
  }
}

/** Splits content of any API into its texts and its files. */
function partsOf(content: unknown, as: Carried['as']): Carried[] {
  if (typeof content === 'string') return [{ as, text: content }]
  return list(content).flatMap((part): Carried[] => {
    const { file, file_data: data, image_url: image, source, type } = part
    const media = (text: unknown): Carried[] => [{ as: 'media', text: string(text) }]
    if (type === 'image_url' || type === 'input_image')
      return media(typeof image === 'string' ? image : object(image).url)
    if (type === 'file') return media(object(file).file_data)
    if (type === 'input_file') return media(data)
    if (type === 'search_result') return partsOf(part.content, as)
    if (type === 'image' || type === 'document') return media(object(source).data ?? object(source).url)
    const text = part.text ?? part.refusal
    return typeof text === 'string' ? [{ as, text }] : []
  })
}

/** The texts and the files of a result. */
function resultOf(calls: Calls, id: unknown, content: unknown): Carried[] {
  const parts = partsOf(content, 'result')
  const texts = parts.filter(({ as }) => as === 'result').map(({ text }) => text)
  return [calls.result(id, texts.join('\n')), ...parts.filter(({ as }) => as === 'media')]
}

function readChat(body: Json, raw: string): Told {
  const calls = new Calls()
  const carried = list(body.messages).flatMap((message): Carried[] => {
    const { content, function_call: older, refusal, role, tool_call_id: id, tool_calls: made } = message
    if (role === 'tool') return resultOf(calls, id, content)
    if (role === 'function') return resultOf(calls, message.name, content)
    if (role === 'user') return partsOf(content, 'user')
    if (role !== 'assistant') return partsOf(content, 'system')
    const thought = message.reasoning_content ?? message.reasoning
    const [detail] = list(message.reasoning_details)
    return [
      ...(typeof thought === 'string'
        ? [{ as: 'thought' as const, text: thought, sealed: string(detail?.signature) }]
        : []),
      ...partsOf(content, 'assistant'),
      ...(typeof refusal === 'string' ? [{ as: 'assistant' as const, text: refusal }] : []),
      ...list(made).map((call) => {
        const { arguments: args, input, name } = object(call.function ?? call.custom)
        return calls.add(call.id, name, args ?? input)
      }),
      ...(older === undefined || older === null
        ? []
        : [calls.add(object(older).name, object(older).name, object(older).arguments)]),
    ]
  })
  const { max_completion_tokens: bound = body.max_tokens, response_format: format, stop } = body
  const choice = body.tool_choice ?? body.function_call
  return {
    carried,
    tools: [
      ...list(body.tools).map((tool) => string(object(tool.function ?? tool.custom).name)),
      ...list(body.functions).map(({ name }) => string(name)),
    ],
    ids: calls.ids,
    settings: present({
      ...commonOf(body, raw),
      bound,
      stop: typeof stop === 'string' ? [stop] : stop,
      choices: body.n,
      logprobs: body.logprobs === true ? (body.top_logprobs ?? 0) : undefined,
      thinking: effortOf(body.reasoning_effort ?? object(body.reasoning).effort),
      schema: textOf(object(object(format).json_schema).schema),
      jsonObject: object(format).type === 'json_object' ? true : undefined,
      toolChoice:
        typeof choice === 'object' && choice !== null
          ? { tool: object(object(choice).function).name ?? object(choice).name }
          : choice === 'required'
            ? 'any'
            : choice,
      verbosity: body.verbosity,
    }),
  }
}

function readResponses(body: Json, raw: string): Told {
  const calls = new Calls()
  const { input, instructions } = body
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : list(input)
  const carried = items.flatMap((item: Json): Carried[] => {
    const { call_id: id, content, name, output, role, type } = item
    switch (type) {
      case 'function_call':
        return [calls.add(id, name, item.arguments)]
      case 'custom_tool_call':
        return [calls.add(id, name, item.input)]
      case 'function_call_output':
      case 'custom_tool_call_output':
        return resultOf(calls, id, output)
      case 'reasoning': {
        const text = list(item.summary)
          .map((part) => string(part.text))
          .join('')
        return [{ as: 'thought', text, sealed: string(item.encrypted_content) }]
      }
      default:
        return partsOf(content, role === 'user' || role === 'assistant' ? role : 'system')
    }
  })
  const { format, verbosity } = object(body.text)
  const choice = body.tool_choice
  return {
    carried: [...partsOf(instructions ?? [], 'system'), ...carried],
    tools: list(body.tools).flatMap((tool) =>
      tool.type === 'namespace'
        ? list(tool.tools).map(({ name }) => `${string(tool.name)}__${string(name)}`)
        : [string(tool.name)],
    ),
    ids: calls.ids,
    settings: present({
      ...commonOf(body, raw),
      bound: body.max_output_tokens,
      logprobs: body.top_logprobs,
      thinking: effortOf(object(body.reasoning).effort),
      schema: textOf(object(format).schema),
      jsonObject: object(format).type === 'json_object' ? true : undefined,
      toolChoice:
        typeof choice === 'object' && choice !== null
          ? { tool: object(choice).name }
          : choice === 'required'
            ? 'any'
            : choice,
      verbosity,
    }),
  }
}

function readMessages(body: Json, raw: string): Told {
  const calls = new Calls()
  const carried = list(body.messages).flatMap(({ content, role }): Carried[] => {
    const as = role === 'user' || role === 'assistant' ? role : 'system'
    if (typeof content === 'string') return partsOf(content, as)
    return list(content).flatMap((block): Carried[] => {
      switch (block.type) {
        case 'tool_use':
          return [calls.add(block.id, block.name, block.input)]
        case 'tool_result':
          return resultOf(calls, block.tool_use_id, block.content)
        case 'thinking':
          return [{ as: 'thought', text: string(block.thinking), sealed: string(block.signature) }]
        case 'redacted_thinking':
          return [{ as: 'thought', text: '', sealed: string(block.data) }]
        default:
          return partsOf([block], as)
      }
    })
  })
  const { budget_tokens: budget, type: thinking } = object(body.thinking)
  const { effort, format } = object(body.output_config)
  const { disable_parallel_tool_use: alone, name, type: choice } = object(body.tool_choice)
  return {
    carried: [...partsOf(body.system ?? [], 'system'), ...carried],
    tools: list(body.tools).map((tool) => string(tool.name)),
    ids: calls.ids,
    settings: present({
      ...commonOf(body, raw),
      bound: body.max_tokens,
      stop: body.stop_sequences,
      thinking: thinking === 'disabled' ? 'off' : (budget ?? effortOf(effort)),
      schema: textOf(object(format ?? body.output_format).schema),
      toolChoice: choice === 'tool' ? { tool: name } : choice,
      parallel: alone === true ? false : undefined,
      // The only label that the API has.
      metadata: undefined,
      user: object(body.metadata).user_id,
    }),
  }
}

function readGemini(body: Json, raw: string): Told {
  const calls = new Calls()
  const { contents, generationConfig, systemInstruction, toolConfig } = body
  const carried = list(contents).flatMap(({ parts, role }) =>
    list(parts).flatMap((part): Carried[] => {
      const { fileData, functionCall: called, functionResponse: answer, inlineData, text, thought } = part
      const sealed = string(part.thoughtSignature)
      if (called !== undefined)
        return [calls.add(object(called).id, object(called).name, object(called).args)]
      if (answer !== undefined) {
        const { id, parts: files, response } = object(answer)
        const media = list(files).map((file) => object(file.inlineData).data)
        return [
          calls.result(id, string(object(response).content)),
          ...media.map((data) => ({ as: 'media' as const, text: string(data) })),
        ]
      }
      const data = object(inlineData).data ?? object(fileData).fileUri
      if (data !== undefined) return [{ as: 'media', text: string(data) }]
      if (thought === true) return [{ as: 'thought', text: string(text), sealed }]
      return [{ as: role === 'model' ? 'assistant' : 'user', text: string(text) }]
    }),
  )
  const { maxOutputTokens: bound, stopSequences: stop, ...config } = object(generationConfig)
  const { allowedFunctionNames: names, mode } = object(object(toolConfig).functionCallingConfig)
  const isJson = config.responseMimeType === 'application/json'
  return {
    carried: [
      ...list(object(systemInstruction).parts).map((part) => ({
        as: 'system' as const,
        text: string(part.text),
      })),
      ...carried,
    ],
    tools: list(body.tools).flatMap((tool) =>
      list(tool.functionDeclarations).map(({ name }) => string(name)),
    ),
    ids: calls.ids,
    settings: present({
      bound,
      stop,
      temperature: config.temperature,
      topP: config.topP,
      seed: /"seed":(\d+)/.exec(raw)?.[1],
      jsonObject: isJson && config.responseSchema === undefined ? true : undefined,
      toolChoice: Array.isArray(names) ? { tool: names[0] } : MODES[string(mode)],
    }),
  }
}

const MODES: Readonly<Record<string, string>> = { AUTO: 'auto', NONE: 'none', ANY: 'any' }

const READERS = { chat: readChat, responses: readResponses, messages: readMessages, gemini: readGemini }

/** The settings that have the same name in every API. Digits are those of the text. */
function commonOf(body: Json, raw: string): Json {
  return {
    temperature: body.temperature,
    topP: body.top_p,
    seed: /"(?:random_)?seed":(\d+)/.exec(raw)?.[1],
    parallel: body.parallel_tool_calls,
    user: body.user ?? body.safety_identifier,
    metadata: body.metadata,
    cacheKey: body.prompt_cache_key,
  }
}

const effortOf = (effort: unknown) => (effort === 'none' ? 'off' : effort)
const textOf = (schema: unknown) => (schema === undefined ? undefined : JSON.stringify(schema))

/** The members that a request has. Their values are compared, never trusted. */
function present(settings: Readonly<Record<keyof Settings | string, unknown>>): Settings {
  return Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined && value !== null),
  )
}
