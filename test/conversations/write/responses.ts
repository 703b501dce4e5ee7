import type { Json, Part, Piece, Result, Settings, Shape, Tool, Turn } from '../shape.js'
import { effortOf } from './effort.js'
import { Exact, isClosed } from './exact-json.js'

/** A conversation as a client of OpenAI's Responses API sends it. */
export function writeResponses(
  { settings = {}, tools, turns }: Shape,
  model: string,
  stream: boolean,
): Json | undefined {
  const { choices, seed, stop } = settings
  const isLegacy = tools?.some(({ legacy }) => legacy) === true
  if (stop !== undefined || seed !== undefined || choices !== undefined || isLegacy) return undefined
  const [first] = turns
  const instructions = first !== undefined && 'system' in first && !first.developer ? first.system : undefined
  return {
    model,
    stream,
    store: false,
    include: ['reasoning.encrypted_content'],
    ...(instructions !== undefined && { instructions }),
    input: turns.slice(instructions === undefined ? 0 : 1).flatMap(itemsOf),
    ...(tools !== undefined && { tools: toolsOf(tools) }),
    ...settingsOf(settings),
  }
}

const message = (role: string, content: unknown): Json => ({ type: 'message', role, content })

function itemsOf(turn: Turn): Json[] {
  if ('system' in turn)
    return [message(turn.developer ? 'developer' : 'system', [{ type: 'input_text', text: turn.system }])]
  if ('user' in turn) return [message('user', contentOf(turn.user))]
  if ('native' in turn) return [...(turn.native.responses ?? [])]
  if ('assistant' in turn) return turn.assistant.map(itemOf)
  return turn.results.map(resultOf)
}

function contentOf(parts: string | readonly Part[]): unknown {
  if (typeof parts === 'string') return parts
  return parts.map((part) => {
    if (typeof part === 'string') return { type: 'input_text', text: part }
    if ('image' in part) return { type: 'input_image', image_url: part.image, detail: part.detail ?? 'auto' }
    return {
      type: 'input_file',
      filename: part.name,
      file_data: `data:application/pdf;base64,${part.pdf}`,
    }
  })
}

function itemOf(piece: Piece): Json {
  if (typeof piece === 'string')
    return message('assistant', [{ type: 'output_text', text: piece, annotations: [] }])
  if ('refusal' in piece) return message('assistant', [{ type: 'refusal', refusal: piece.refusal }])
  if ('thought' in piece)
    return {
      type: 'reasoning',
      id: 'rs_of_somebody',
      summary: [{ type: 'summary_text', text: piece.thought }],
      ...(piece.sealed !== undefined && { encrypted_content: piece.sealed }),
    }
  const { call: name, custom, id, input, namespace } = piece
  return {
    type: custom ? 'custom_tool_call' : 'function_call',
    call_id: id,
    ...(namespace !== undefined && { namespace }),
    name,
    ...(custom ? { input } : { arguments: input }),
  }
}

function resultOf({ custom, of, says }: Result): Json {
  return {
    type: custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: of,
    output: contentOf(says),
  }
}

function toolsOf(tools: readonly Tool[]): Json[] {
  const namespaces = new Map<string, Json[]>()
  const written: Json[] = []
  for (const tool of tools) {
    if (tool.namespace === undefined) {
      written.push(toolOf(tool))
      continue
    }
    let inner = namespaces.get(tool.namespace)
    if (inner === undefined) {
      inner = []
      namespaces.set(tool.namespace, inner)
      written.push({
        type: 'namespace',
        name: tool.namespace,
        description: 'A group of tools',
        tools: inner,
      })
    }
    inner.push(toolOf(tool))
  }
  return written
}

function toolOf({ custom, description, name, schema, strict }: Tool): Json {
  if (custom === undefined)
    return {
      type: 'function',
      name,
      ...(description !== undefined && { description }),
      ...(schema !== undefined && { parameters: new Exact(schema) }),
      strict: strict ?? false,
    }
  const format =
    custom.grammar === undefined
      ? { type: 'text' }
      : { type: 'grammar', syntax: 'lark', definition: custom.grammar }
  return { type: 'custom', name, description, format }
}

function settingsOf(settings: Settings): Json {
  const { bound, cacheKey, jsonObject, logprobs, metadata, parallel, schema } = settings
  const { temperature, thinking, toolChoice, topP, user, verbosity } = settings
  const format =
    schema !== undefined
      ? { type: 'json_schema', name: 'answer', strict: isClosed(schema), schema: new Exact(schema) }
      : jsonObject
        ? { type: 'json_object' }
        : undefined
  const effort = thinking === 'off' ? 'none' : typeof thinking === 'number' ? effortOf(thinking) : thinking
  return {
    ...(bound !== undefined && { max_output_tokens: bound }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(logprobs !== undefined && { top_logprobs: logprobs }),
    ...(effort !== undefined && { reasoning: { effort, summary: 'auto' } }),
    ...((format !== undefined || verbosity !== undefined) && {
      text: { ...(format !== undefined && { format }), ...(verbosity !== undefined && { verbosity }) },
    }),
    ...(toolChoice !== undefined && {
      tool_choice:
        typeof toolChoice === 'object'
          ? { type: 'function', name: toolChoice.tool }
          : toolChoice === 'any'
            ? 'required'
            : toolChoice,
    }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
    ...(user !== undefined && { user }),
    ...(metadata !== undefined && { metadata }),
    ...(cacheKey !== undefined && { prompt_cache_key: cacheKey }),
  }
}
