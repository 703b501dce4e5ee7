import { z } from 'zod'
import { MODEL } from './service.js'

/**
 * The rules of the strictest known clients, combined. For each rule, some client throws, loses text or calls
 * again if it is broken.
 */

const count = z.int().nonnegative()

/** All three counts and the cost, integers in the details, no null, no `cost_details`. */
const usage = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.strictObject({ cached_tokens: count }),
  completion_tokens_details: z.strictObject({ reasoning_tokens: count }),
  cost: z.number().nonnegative(),
  is_byok: z.boolean(),
  charge: z.strictObject({
    basis: z.enum(['reported', 'estimated']),
    base_cost: z.number().nonnegative(),
    markup_cost: z.number().nonnegative(),
  }),
})

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter'])
const filled = z.string().min(1)
const shared = {
  index: z.int().nonnegative(),
  native_finish_reason: filled.optional(),
  logprobs: z.looseObject({}).nullable().optional(),
}

const toolCallDelta = z.object({
  index: z.int().nonnegative(),
  id: filled.optional(),
  type: z.literal('function').optional(),
  function: z.object({ name: filled.optional(), arguments: z.string() }),
})

const delta = z.looseObject({
  role: z.literal('assistant').optional(),
  content: z.string().nullable().optional(),
  reasoning: z.string().optional(),
  reasoning_content: z.string().optional(),
  refusal: z.string().nullable().optional(),
  tool_calls: z.array(toolCallDelta).min(1).optional(),
})

/** Lists beside the choices, such as sources, which some clients show. */
const list = z.array(z.unknown()).min(1).optional()
const lists = {
  citations: list,
  search_results: list,
  related_questions: list,
  images: list,
  prompt_filter_results: list,
}
const head = {
  ...lists,
  id: filled,
  created: z.int(),
  model: z.literal(MODEL),
  service_tier: filled.optional(),
}

/**
 * The key `finish_reason` in every choice, no null at the top level, and only two strings from the provider.
 */
const chunk = z.strictObject({
  ...head,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(z.looseObject({ ...shared, delta, finish_reason: finishReason.nullable() })),
  usage: usage.optional(),
  system_fingerprint: filled.optional(),
})

const toolCall = z.looseObject({
  id: filled,
  type: z.literal('function'),
  function: z.object({ name: filled, arguments: filled }),
})

/** Always `system_fingerprint`, null or a string. In a stream it is the other way round. */
const completion = z.strictObject({
  ...head,
  object: z.literal('chat.completion'),
  choices: z
    .array(
      z.looseObject({
        ...shared,
        message: z.looseObject({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          reasoning: z.string().optional(),
          reasoning_content: z.string().optional(),
          refusal: z.string().nullable().optional(),
          tool_calls: z.array(toolCall).min(1).optional(),
        }),
        finish_reason: finishReason,
      }),
    )
    .min(1),
  usage,
  system_fingerprint: z.string().nullable(),
})

type Delta = z.infer<typeof delta>
type Choice = z.infer<typeof chunk>['choices'][number]

/** One choice of a reply, streamed or not. */
export interface ReadChoice {
  text: string
  reasoning: string
  /** Undefined if there is none. */
  refusal?: string
  toolCalls: { id: string; name: string; arguments: string }[]
  finishReason: string | undefined
}

export interface ReadReply {
  readonly choices: readonly ReadChoice[]
  readonly usage: z.infer<typeof usage>
}

/** Reads a stream as strictly as possible. Throws at the first thing that some client cannot read. */
export function readStream(stream: string): ReadReply {
  const frames = stream.split('\n\n')
  must(frames.pop() === '' && frames.pop() === 'data: [DONE]', 'the stream ends with [DONE]')
  const data = frames.filter((frame) => frame !== ': keep-alive')
  for (const frame of data) must(/^data: \{[^\r\n]*\}$/.test(frame), `one line of data each: ${frame}`)
  const chunks = data.map((frame) => chunk.parse(JSON.parse(frame.slice('data: '.length))))
  must(new Set(chunks.map(({ id }) => id)).size === 1, 'one id')
  const last = chunks.pop()
  must(last?.usage !== undefined && last.choices.length === 0, 'the usage comes last, without choices')
  must(
    chunks.every((each) => each.usage === undefined && each.choices.length > 0),
    'the usage comes once',
  )
  const choices = new Map<number, ReadChoice>()
  for (const choice of chunks.flatMap((each) => each.choices)) readDelta(choices, choice)
  const read = [...choices].sort(([one], [other]) => one - other).map(([, choice]) => choice)
  must(read.length > 0, 'there is a choice')
  for (const choice of read) checkChoice(choice)
  return { choices: read, usage: last!.usage! }
}

function readDelta(
  choices: Map<number, ReadChoice>,
  { delta: given, finish_reason: finish, index }: Choice,
): void {
  let choice = choices.get(index)
  must(
    (choice === undefined) === (given.role !== undefined) || given.role === 'assistant',
    'the role comes first',
  )
  if (choice === undefined) {
    must(given.role === 'assistant', 'the first delta has the role')
    choice = { text: '', reasoning: '', toolCalls: [], finishReason: undefined }
    choices.set(index, choice)
  }
  must(choice.finishReason === undefined, 'nothing comes after the finish')
  must(given.reasoning === undefined || given.reasoning_content === undefined, 'reasoning comes once')
  choice.text += given.content ?? ''
  choice.reasoning += given.reasoning_content ?? given.reasoning ?? ''
  if (given.refusal) choice.refusal = (choice.refusal ?? '') + given.refusal
  readToolCalls(choice, given.tool_calls ?? [])
  choice.finishReason = finish ?? undefined
}

function readToolCalls({ toolCalls }: ReadChoice, deltas: NonNullable<Delta['tool_calls']>): void {
  for (const { function: details, id, index, type } of deltas) {
    const known = toolCalls[index]
    if (known !== undefined) {
      must(id === undefined && type === undefined && details.name === undefined, 'a call is named once')
      known.arguments += details.arguments
      continue
    }
    must(id !== undefined && type !== undefined && details.name !== undefined, 'a call begins with its name')
    toolCalls[index] = { id: id!, name: details.name!, arguments: details.arguments }
  }
}

/** Reads a JSON reply as strictly as possible. */
export function readBody(text: string): ReadReply {
  const reply = completion.parse(JSON.parse(text))
  const choices = reply.choices.map(({ finish_reason: finishReason, message }) => {
    const { reasoning, reasoning_content: thought, refusal } = message
    must(reasoning === undefined || thought === undefined, 'reasoning comes once')
    const toolCalls = (message.tool_calls ?? []).map(({ function: details, id }) => ({ id, ...details }))
    return {
      text: message.content ?? '',
      reasoning: thought ?? reasoning ?? '',
      ...(refusal && { refusal }),
      toolCalls,
      finishReason,
    }
  })
  for (const choice of choices) checkChoice(choice)
  return { choices, usage: reply.usage }
}

function checkChoice({ finishReason, toolCalls }: ReadChoice): void {
  must(finishReason !== undefined, 'every choice is finished')
  for (const call of toolCalls) must(typeof JSON.parse(call.arguments) === 'object', 'arguments are JSON')
  must(new Set(toolCalls.map(({ id }) => id)).size === toolCalls.length, 'each call has its own id')
  if (toolCalls.length > 0) must(finishReason !== 'stop', 'calls end with their own finish reason')
}

function must(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`A client would fail: ${rule}.`)
}
