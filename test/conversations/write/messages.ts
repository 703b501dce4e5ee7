import type { Json, Part, Piece, Result, Settings, Shape, Tool, Turn } from '../shape.js'
import { Exact } from './exact-json.js'

/** The limit that a client sends which wants none: the API requires one. */
const BOUND = 20_000

/** A conversation as a client of Anthropic's Messages API sends it. */
export function writeMessages(
  { settings = {}, tools, turns }: Shape,
  model: string,
  stream: boolean,
): Json | undefined {
  const { cacheKey, choices, jsonObject, logprobs, seed, verbosity } = settings
  const foreign = [cacheKey, choices, jsonObject, logprobs, seed, verbosity]
  if (foreign.some((value) => value !== undefined)) return undefined
  const all = tools ?? []
  if (all.some((tool) => tool.custom !== undefined || tool.namespace !== undefined || tool.legacy))
    return undefined
  const system: string[] = []
  const messages: { role: string; content: Json[] }[] = []
  for (const turn of turns) {
    if ('system' in turn && messages.length === 0) {
      system.push(turn.system)
      continue
    }
    for (const { content, role } of messagesOf(turn)) {
      const last = messages.at(-1)
      if (last?.role === role) last.content.push(...content)
      else messages.push({ role, content: [...content] })
    }
  }
  return {
    model,
    stream,
    max_tokens: settings.bound ?? BOUND,
    ...(system.length === 1 && { system: system[0] }),
    ...(system.length > 1 && { system: system.map((text) => ({ type: 'text', text })) }),
    messages,
    ...(tools !== undefined && { tools: tools.map(toolOf) }),
    ...settingsOf(settings),
  }
}

function messagesOf(turn: Turn): { role: string; content: readonly Json[] }[] {
  // A client that may not send this role in the middle says it as the user.
  if ('system' in turn) return [{ role: 'system', content: [{ type: 'text', text: turn.system }] }]
  if ('user' in turn) return [{ role: 'user', content: contentOf(turn.user) }]
  if ('native' in turn) return (turn.native.messages ?? []) as { role: string; content: Json[] }[]
  if ('assistant' in turn) return [{ role: 'assistant', content: turn.assistant.flatMap(blockOf) }]
  return [{ role: 'user', content: turn.results.map(resultOf) }]
}

function contentOf(parts: string | readonly Part[]): Json[] {
  if (typeof parts === 'string') return [{ type: 'text', text: parts }]
  return parts.map((part) => {
    if (typeof part === 'string') return { type: 'text', text: part }
    if ('image' in part) {
      const [head = '', data = ''] = part.image.slice('data:'.length).split(',')
      const mediaType = head.split(';')[0]
      return part.image.startsWith('data:')
        ? { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
        : { type: 'image', source: { type: 'url', url: part.image } }
    }
    return {
      type: 'document',
      title: part.name,
      source: { type: 'base64', media_type: 'application/pdf', data: part.pdf },
    }
  })
}

function blockOf(piece: Piece): Json[] {
  if (typeof piece === 'string') return [{ type: 'text', text: piece }]
  if ('refusal' in piece) return [{ type: 'text', text: piece.refusal }]
  if ('thought' in piece)
    return [{ type: 'thinking', thinking: piece.thought, signature: piece.sealed ?? '' }]
  return [
    {
      type: 'tool_use',
      id: piece.id,
      name: piece.call,
      input: piece.custom ? { input: piece.input } : new Exact(piece.input),
    },
  ]
}

function resultOf({ failed, of, says }: Result): Json {
  return {
    type: 'tool_result',
    tool_use_id: of,
    content: typeof says === 'string' ? says : contentOf(says),
    ...(failed && { is_error: true }),
  }
}

function toolOf({ description, name, schema = '{"type":"object","properties":{}}' }: Tool): Json {
  return { name, ...(description !== undefined && { description }), input_schema: new Exact(schema) }
}

function settingsOf(settings: Settings): Json {
  const { metadata, parallel, schema, stop, temperature, thinking, toolChoice, topP, user } = settings
  const label = user ?? metadata?.user_id
  const effort = typeof thinking === 'string' && thinking !== 'off' ? thinking : undefined
  const choice =
    typeof toolChoice === 'object'
      ? { type: 'tool', name: toolChoice.tool }
      : toolChoice !== undefined || parallel === false
        ? { type: toolChoice ?? 'auto' }
        : undefined
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(stop !== undefined && { stop_sequences: stop }),
    ...(thinking === 'off' && { thinking: { type: 'disabled' } }),
    ...(typeof thinking === 'number' && { thinking: { type: 'enabled', budget_tokens: thinking } }),
    ...(effort !== undefined && { thinking: { type: 'adaptive' } }),
    ...((effort !== undefined || schema !== undefined) && {
      output_config: {
        ...(effort !== undefined && { effort }),
        ...(schema !== undefined && { format: { type: 'json_schema', schema: new Exact(schema) } }),
      },
    }),
    ...(choice !== undefined && {
      tool_choice: { ...choice, ...(parallel === false && { disable_parallel_tool_use: true }) },
    }),
    ...(label !== undefined && { metadata: { user_id: label } }),
  }
}
