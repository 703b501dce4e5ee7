import type { Json, Part, Piece, Result, Settings, Shape, Tool, Turn } from '../shape.js'
import { effortOf } from './effort.js'
import { Exact, isClosed } from './exact-json.js'

/** A conversation as a client of OpenAI's chat completions sends it. */
export function writeChat(
  { settings = {}, tools, turns }: Shape,
  model: string,
  stream: boolean,
): Json | undefined {
  if (tools?.some(({ namespace }) => namespace !== undefined)) return undefined
  const legacy = tools?.some((tool) => tool.legacy) === true
  return {
    model,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    messages: turns.flatMap(messagesOf),
    ...(tools !== undefined &&
      (legacy ? { functions: tools.map(functionOf) } : { tools: tools.map(toolOf) })),
    ...settingsOf(settings),
  }
}

function messagesOf(turn: Turn): Json[] {
  if ('system' in turn) return [{ role: turn.developer ? 'developer' : 'system', content: turn.system }]
  if ('user' in turn) return [{ role: 'user', content: contentOf(turn.user) }]
  if ('native' in turn) return [...(turn.native.chat ?? [])]
  if ('assistant' in turn) return [replyOf(turn.assistant)]
  return turn.results.map(resultOf)
}

function contentOf(parts: string | readonly Part[]): unknown {
  if (typeof parts === 'string') return parts
  return parts.map((part) => {
    if (typeof part === 'string') return { type: 'text', text: part }
    if ('image' in part)
      return {
        type: 'image_url',
        image_url: { url: part.image, ...(part.detail !== undefined && { detail: part.detail }) },
      }
    return {
      type: 'file',
      file: { filename: part.name, file_data: `data:application/pdf;base64,${part.pdf}` },
    }
  })
}

function replyOf(pieces: readonly Piece[]): Json {
  const texts = pieces.filter((piece) => typeof piece === 'string')
  const message: Record<string, unknown> = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.length === 1 ? texts[0] : contentOf(texts),
  }
  for (const piece of pieces) {
    if (typeof piece === 'string') continue
    if ('thought' in piece) {
      message.reasoning_content = `${message.reasoning_content ?? ''}${piece.thought}`
      if (piece.sealed !== undefined)
        message.reasoning_details = [
          { type: 'reasoning.text', text: piece.thought, signature: piece.sealed, index: 0 },
        ]
    } else if ('refusal' in piece) message.refusal = piece.refusal
    else if (piece.legacy) message.function_call = { name: piece.call, arguments: piece.input }
    else {
      const { call: name, id, input } = piece
      const call = piece.custom
        ? { id, type: 'custom', custom: { name, input } }
        : { id, type: 'function', function: { name, arguments: input } }
      message.tool_calls = [...((message.tool_calls as Json[] | undefined) ?? []), call]
    }
  }
  return message
}

function resultOf({ legacy, of, says }: Result): Json {
  return legacy === undefined
    ? { role: 'tool', tool_call_id: of, content: contentOf(says) }
    : { role: 'function', name: legacy, content: contentOf(says) }
}

function functionOf({ description, name, schema, strict }: Tool): Json {
  return {
    name,
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { parameters: new Exact(schema) }),
    ...(strict !== undefined && { strict }),
  }
}

function toolOf(tool: Tool): Json {
  const { custom, description, name } = tool
  if (custom === undefined) return { type: 'function', function: functionOf(tool) }
  const format =
    custom.grammar === undefined
      ? { type: 'text' }
      : { type: 'grammar', grammar: { syntax: 'lark', definition: custom.grammar } }
  return { type: 'custom', custom: { name, description, format } }
}

function settingsOf(settings: Settings): Json {
  const { bound, cacheKey, choices, jsonObject, logprobs, metadata, parallel, schema } = settings
  const { seed, stop, temperature, thinking, toolChoice, topP, user, verbosity } = settings
  return {
    ...(bound !== undefined && { max_completion_tokens: bound }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(stop !== undefined && { stop }),
    ...(seed !== undefined && { seed: new Exact(seed) }),
    ...(choices !== undefined && { n: choices }),
    ...(logprobs !== undefined && { logprobs: true, top_logprobs: logprobs }),
    ...(thinking !== undefined && { reasoning_effort: effortOf(thinking) }),
    ...(jsonObject && { response_format: { type: 'json_object' } }),
    ...(schema !== undefined && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', strict: isClosed(schema), schema: new Exact(schema) },
      },
    }),
    ...(toolChoice !== undefined && {
      tool_choice:
        typeof toolChoice === 'object'
          ? { type: 'function', function: { name: toolChoice.tool } }
          : toolChoice === 'any'
            ? 'required'
            : toolChoice,
    }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
    ...(user !== undefined && { user }),
    ...(metadata !== undefined && { metadata }),
    ...(cacheKey !== undefined && { prompt_cache_key: cacheKey }),
    ...(verbosity !== undefined && { verbosity }),
  }
}
