import { isDeepStrictEqual } from 'node:util'
import type { ScriptedReply, ScriptedRequest } from '../helpers/scripted-upstream.js'
import { fakeModel, type ModelCallOptions, streamOf } from '../providers/ai-sdk/models.js'
import {
  blockDelta,
  blockStart,
  blockStop,
  frames,
  messageDelta,
  messageStart,
  messageStop,
} from '../providers/anthropic/replies.js'
import { COUNTS } from './service.js'

export type Json = Readonly<Record<string, unknown>>

/** One reply of a model. */
export interface Said {
  readonly thought: string
  readonly text: string
  /** The arguments of its only tool call, possibly broken. */
  readonly call?: string
}

type Refusal = string | undefined
const objects = (list: unknown) => (Array.isArray(list) ? list : []) as readonly Json[]

/** Refuses the messages of a conversation as a strict provider of OpenAI's format does. */
export interface Strictness {
  /** The members of a reply, besides `role`, `content` and `tool_calls`. */
  readonly members: readonly string[]
  readonly callMembers?: readonly string[]
  /** Whether every reply needs `reasoning_content`. */
  readonly wantsReasoning?: boolean
  readonly id: RegExp
  readonly badId: string
}

const LONG_IDS = "Invalid 'messages[1].tool_calls[0].id': string too long."

/** As DeepSeek, Groq and Mistral refuse them. */
export const strictness = {
  deepseek: { members: ['reasoning_content'], wantsReasoning: true, id: /^.{1,40}$/, badId: LONG_IDS },
  groq: { members: [], id: /^.{1,40}$/, badId: LONG_IDS },
  mistral: {
    members: [],
    id: /^[a-zA-Z0-9]{9}$/,
    badId: 'Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.',
  },
} as const satisfies Record<string, Strictness>

export function refusalOfOpenAi(messages: readonly Json[], strict: Strictness): Refusal {
  let open: string[] = []
  for (const [at, message] of messages.entries()) {
    const { content, role, tool_call_id: answered, tool_calls: calls } = message
    if (!['system', 'user', 'assistant', 'tool'].includes(role as string)) return `unknown role ${role}`
    if (role === 'tool') {
      if (!open.includes(answered as string)) return `messages.${at}: a result of no call`
      open = open.filter((id) => id !== answered)
      continue
    }
    if (open.length > 0) return `messages.${at}: a call has no result`
    if (role !== 'assistant') continue
    const known = ['role', 'content', 'tool_calls', ...strict.members]
    const unknown = Object.keys(message).find((name) => !known.includes(name))
    if (unknown !== undefined) return `messages.${at}.assistant.${unknown}: Extra inputs are not permitted`
    const { reasoning_content: reasoning } = message
    if (strict.wantsReasoning === true && (typeof reasoning !== 'string' || reasoning === '')) {
      return 'The `reasoning_content` in the thinking mode must be passed back to the API.'
    }
    if (objects(calls).length === 0 && (typeof content !== 'string' || (content === '' && !reasoning))) {
      return "Assistant message must contain either 'content' or 'tool_calls'!"
    }
    for (const call of objects(calls)) {
      const extra = Object.keys(call).find((name) => !['id', 'type', 'function'].includes(name))
      if (extra !== undefined) return `messages.${at}.assistant.tool_calls.0.${extra}: Extra inputs`
      if (!strict.id.test(call.id as string)) return strict.badId
      if (!isObjectText((call.function as Json).arguments)) return 'arguments must be a valid JSON object'
      open.push(call.id as string)
    }
  }
  return undefined
}

function isObjectText(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(text as string)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

const signatureOf = (thinking: unknown) => `signed:${thinking}`

/** As Anthropic's API refuses a request. */
export function refusalOfClaude({ messages, thinking }: Json): Refusal {
  const turns = objects(messages)
  const ids = new Set<unknown>()
  for (const [at, { content, role }] of turns.entries()) {
    if (role !== (at % 2 === 0 ? 'user' : 'assistant')) return `messages.${at}: roles must alternate`
    const blocks = objects(content)
    if (blocks.length === 0) return `messages.${at}: content must not be empty`
    const before = objects(turns[at - 1]?.content).filter(({ type }) => type === 'tool_use')
    const results = blocks.filter(({ type }) => type === 'tool_result')
    const wanted = before.map(({ id }) => id)
    if (
      role === 'user' &&
      !isDeepStrictEqual(new Set(wanted), new Set(results.map((one) => one.tool_use_id)))
    ) {
      return `messages.${at}: tool_use ids were found without tool_result blocks immediately after`
    }
    for (const block of blocks) {
      if (block.type === 'text' && (block.text as string).trim() === '')
        return 'text must contain non-whitespace'
      if (block.type === 'thinking' && block.signature !== signatureOf(block.thinking)) {
        return `messages.${at}.content.0: Invalid \`signature\` in \`thinking\` block`
      }
      if (block.type !== 'tool_use') continue
      if (!/^[a-zA-Z0-9_-]+$/.test(block.id as string)) return 'tool_use.id: String should match pattern'
      if (ids.has(block.id)) return '`tool_use` ids must be unique'
      ids.add(block.id)
      if (!isObjectText(JSON.stringify(block.input)))
        return 'tool_use.input: Input should be a valid dictionary'
    }
  }
  if (thinking === undefined) return undefined
  let first: Json | undefined
  for (let at = turns.length - 1; objects(turns[at]?.content)[0]?.type === 'tool_result'; at -= 2) {
    first = objects(turns[at - 1]?.content)[0]
  }
  return first === undefined || first.type === 'thinking'
    ? undefined
    : 'Expected `thinking` or `redacted_thinking`, but found `tool_use`.'
}

/** As Google's API refuses the prompt of its package. */
export function refusalOfGemini(prompt: readonly Json[]): Refusal {
  for (const [at, { content, role }] of prompt.entries()) {
    if (role === 'system') {
      if (at > 0) return 'system messages are only supported at the beginning of the conversation'
      continue
    }
    const parts = objects(content)
    if (parts.length === 0) return 'must include at least one parts field'
    const calls = parts.filter(({ type }) => type === 'tool-call')
    const [call] = calls
    if (call === undefined) continue
    const { google } = (call.providerOptions ?? {}) as { google?: Json }
    const signature = google?.thoughtSignature
    if (signature !== 'skip_thought_signature_validator' && signature !== signatureOf(call.toolName)) {
      return 'Function call is missing a thought_signature in functionCall parts.'
    }
    const results = objects(prompt[at + 1]?.content).filter(({ type }) => type === 'tool-result')
    if (
      !isDeepStrictEqual(
        results.map((one) => one.toolCallId),
        calls.map((one) => one.toolCallId),
      )
    ) {
      return 'the number of function response parts must equal the number of function call parts'
    }
  }
  return undefined
}

const TOOL = 'look'
const STREAM = { 'content-type': 'text/event-stream' }

async function send(reply: ScriptedReply, status: number, type: string, text: string): Promise<void> {
  reply.head(status, { 'content-type': type })
  await reply.write(text)
  reply.end()
}

/** A provider of OpenAI's format, and the refusals that stood: those not followed by another request. */
export function openAiProvider(strict: Strictness, next: () => Said, reasoning: string, newId: () => string) {
  return async (reply: ScriptedReply, { body }: ScriptedRequest): Promise<void> => {
    const { messages, stream } = body as { messages: readonly Json[]; stream?: boolean }
    const refusal = refusalOfOpenAi(messages, strict)
    if (refusal !== undefined) {
      await send(reply, 400, 'application/json', JSON.stringify({ error: { message: refusal } }))
      return
    }
    const { call, text, thought } = next()
    const calls =
      call === undefined
        ? undefined
        : [{ index: 0, id: newId(), type: 'function', function: { name: TOOL, arguments: call } }]
    const finish = calls === undefined ? 'stop' : 'tool_calls'
    const said = { role: 'assistant', content: text, [reasoning]: thought, tool_calls: calls }
    if (stream !== true) {
      const choices = [{ index: 0, message: said, finish_reason: finish }]
      await send(reply, 200, 'application/json', JSON.stringify({ choices, usage: COUNTS }))
      return
    }
    const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`
    const events =
      event({ choices: [{ index: 0, delta: said }] }) +
      event({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }) +
      event({ choices: [], usage: COUNTS })
    await send(reply, 200, STREAM['content-type'], `${events}data: [DONE]\n\n`)
  }
}

export function claudeProvider(next: () => Said, newId: () => string) {
  return async (reply: ScriptedReply, { body }: ScriptedRequest): Promise<void> => {
    const refusal = refusalOfClaude(body as Json)
    if (refusal !== undefined) {
      const error = { type: 'error', error: { type: 'invalid_request_error', message: refusal } }
      await send(reply, 400, 'application/json', JSON.stringify(error))
      return
    }
    const { call, text, thought } = next()
    const usage = { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 7 }
    const reason = call === undefined ? 'end_turn' : 'tool_use'
    // A broken call cannot come from this API in one body, where its input is an object.
    const input = call !== undefined && isObjectText(call) ? JSON.parse(call) : {}
    const use = { type: 'tool_use', id: newId(), name: TOOL }
    if ((body as Json).stream !== true) {
      const content = [
        { type: 'thinking', thinking: thought, signature: signatureOf(thought) },
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...(call === undefined ? [] : [{ ...use, input }]),
      ]
      const message = { type: 'message', role: 'assistant', content, stop_reason: reason, usage }
      await send(reply, 200, 'application/json', JSON.stringify(message))
      return
    }
    const events = frames([
      messageStart({ ...usage, output_tokens: 1 }),
      blockStart(0, { type: 'thinking', thinking: '' }),
      blockDelta(0, { type: 'thinking_delta', thinking: thought }),
      blockDelta(0, { type: 'signature_delta', signature: signatureOf(thought) }),
      blockStop(0),
      blockStart(1, { type: 'text', text: '' }),
      blockDelta(1, { type: 'text_delta', text }),
      blockStop(1),
      ...(call === undefined
        ? []
        : [
            blockStart(2, { ...use, input: {} }),
            blockDelta(2, { type: 'input_json_delta', partial_json: call }),
            blockStop(2),
          ]),
      messageDelta(reason, usage),
      messageStop,
    ])
    await send(reply, 200, STREAM['content-type'], events)
  }
}

export function geminiModel(next: () => Said, newId: () => string) {
  const usage = { inputTokens: { total: 11, noCache: 7, cacheRead: 4 }, outputTokens: { total: 7, text: 7 } }
  const partsOf = ({ prompt }: ModelCallOptions) => {
    const refusal = refusalOfGemini(prompt as unknown as readonly Json[])
    if (refusal !== undefined) throw Object.assign(new Error(refusal), { statusCode: 400 })
    const { call, text, thought } = next()
    const signed = (value: string) => ({
      providerMetadata: { google: { thoughtSignature: signatureOf(value) } },
    })
    const id = newId()
    const calls =
      call === undefined
        ? []
        : [{ type: 'tool-call', toolCallId: id, toolName: TOOL, input: call, ...signed(TOOL) }]
    return {
      text,
      thought,
      calls,
      finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: 'STOP' },
    }
  }
  const model = fakeModel({
    provider: 'google.generative-ai',
    async generate(options) {
      const { calls, finishReason, text, thought } = partsOf(options)
      const content = [
        { type: 'reasoning', text: thought },
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...calls,
      ]
      return { content, finishReason, usage }
    },
    async stream(options) {
      const { calls, finishReason, text, thought } = partsOf(options)
      const parts = [
        { type: 'stream-start', warnings: [] },
        { type: 'reasoning-delta', id: 'r', delta: thought },
        { type: 'text-delta', id: 't', delta: text },
        ...calls,
        { type: 'finish', finishReason, usage },
      ]
      return { stream: streamOf(parts) }
    },
  })
  return Object.assign(model, { modelId: 'gemini-3-pro-preview' })
}
