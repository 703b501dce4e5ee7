import type { JsonObject } from '../recordings/recording.js'
import type { ToolCall } from './hearing.js'
import { isObject } from './shapes.js'

/** The message in a reply, read as strictly as the strictest client. */
export interface Reply {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly ToolCall[]
  readonly finish: string | undefined
  readonly native: string | undefined
  readonly usage: JsonObject | undefined
  readonly error: JsonObject | undefined
  readonly isDone: boolean
}

const FINISHES = new Set<unknown>(['stop', 'length', 'tool_calls', 'content_filter'])

/** Throws if a client would fail at the reply, with the reason. */
function must(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`A client would fail: ${rule}.`)
}

interface Building {
  text: string
  reasoning: string
  refusal: string
  readonly calls: { name: string; arguments: string }[]
  readonly ids: Set<string>
  finish: string | undefined
  native: string | undefined
}

export function readStream(bytes: string): Reply {
  const frames = bytes.split('\n\n')
  must(frames.pop() === '', 'the stream ends with a blank line')
  const isDone = frames.at(-1) === 'data: [DONE]'
  if (isDone) frames.pop()
  const made: Building = {
    text: '',
    reasoning: '',
    refusal: '',
    calls: [],
    ids: new Set(),
    finish: undefined,
    native: undefined,
  }
  let usage: JsonObject | undefined
  let error: JsonObject | undefined
  const ids = new Set<unknown>()
  for (const frame of frames) {
    if (frame === ': keep-alive') continue
    must(/^data: \{[^\r\n]*\}$/.test(frame), `each event is one line: ${frame}`)
    const chunk = JSON.parse(frame.slice('data: '.length)) as JsonObject
    must(usage === undefined && error === undefined, 'nothing follows the usage or an error')
    if (chunk.error !== undefined) {
      must(isObject(chunk.error), 'an error is an object')
      error = chunk.error
      continue
    }
    ids.add(chunk.id)
    must(Array.isArray(chunk.choices), 'a chunk has choices')
    if (isObject(chunk.usage)) {
      must(chunk.choices.length === 0, 'the usage comes alone')
      usage = chunk.usage
      continue
    }
    must(chunk.choices.length === 1 && isObject(chunk.choices[0]), 'a chunk has one choice')
    readDelta(made, chunk.choices[0])
  }
  must(ids.size <= 1, 'a stream has one id')
  must(isDone === (error === undefined), 'a stream ends with [DONE] or with an error')
  must(error === undefined || made.finish === undefined, 'a stream that failed has no finish')
  must(
    error !== undefined || (made.finish !== undefined && usage !== undefined),
    'a whole stream has an end and a usage',
  )
  return { ...made, usage: usage ?? usageOfError(error), error, isDone }
}

function usageOfError(error: JsonObject | undefined): JsonObject | undefined {
  const metadata = error?.metadata
  return isObject(metadata) && isObject(metadata.usage) ? metadata.usage : undefined
}

function readDelta(
  made: Building,
  { delta, finish_reason: finish, index, native_finish_reason: native }: JsonObject,
): void {
  must(index === 0, 'the only choice is the first')
  must(isObject(delta), 'a choice has a delta')
  must(made.finish === undefined, 'nothing follows the finish')
  must(finish === null || FINISHES.has(finish), `the finish reason is known: ${JSON.stringify(finish)}`)
  must(delta.role === undefined || delta.role === 'assistant', 'the role is assistant')
  readTexts(made, delta)
  must(delta.tool_calls === undefined || Array.isArray(delta.tool_calls), 'tool_calls is a list')
  for (const piece of (delta.tool_calls ?? []) as JsonObject[]) {
    const { function: details, id } = piece
    must(isObject(details) && typeof details.arguments === 'string', 'arguments are text')
    const known = made.calls[piece.index as number]
    if (known === undefined) {
      must(piece.index === made.calls.length, 'calls are counted from 0')
      must(
        typeof id === 'string' && id !== '' && piece.type === 'function',
        'a call begins with its id and type',
      )
      must(!made.ids.has(id), 'each call has its own id')
      must(typeof details.name === 'string' && details.name !== '', 'a call begins with its name')
      made.ids.add(id)
      made.calls.push({ name: details.name, arguments: details.arguments })
    } else {
      must(id === undefined && details.name === undefined, 'a call is named once')
      known.arguments += details.arguments
    }
  }
  if (typeof finish !== 'string') return
  made.finish = finish
  must(native === undefined || typeof native === 'string', 'the native reason is text')
  made.native = native as string | undefined
}

function readTexts(made: Building, said: JsonObject): void {
  for (const name of ['content', 'refusal', 'reasoning', 'reasoning_content'] as const) {
    const value = said[name]
    must(
      value === undefined || value === null || typeof value === 'string',
      `${name} is text: ${JSON.stringify(value)}`,
    )
  }
  must((said.reasoning ?? null) === null, 'reasoning has one name')
  must((said.annotations ?? null) === null || Array.isArray(said.annotations), 'annotations are a list')
  must((said.images ?? null) === null || Array.isArray(said.images), 'images are a list')
  must(
    (said.reasoning_details ?? null) === null || Array.isArray(said.reasoning_details),
    'reasoning_details are a list',
  )
  made.text += (said.content as string | null) ?? ''
  made.refusal += (said.refusal as string | null) ?? ''
  made.reasoning += (said.reasoning_content as string | null) ?? ''
}

export function readBody(bytes: string, status: number): Reply {
  const reply = JSON.parse(bytes) as JsonObject
  const made: Building = {
    text: '',
    reasoning: '',
    refusal: '',
    calls: [],
    ids: new Set(),
    finish: undefined,
    native: undefined,
  }
  if (status !== 200) {
    must(isObject(reply.error), 'an error has a body')
    return { ...made, usage: undefined, error: reply.error, isDone: false }
  }
  must(Array.isArray(reply.choices) && reply.choices.length === 1, 'there is one choice')
  const [choice] = reply.choices
  must(isObject(choice) && isObject(choice.message) && choice.index === 0, 'the choice has a message')
  must(
    FINISHES.has(choice.finish_reason),
    `the finish reason is known: ${JSON.stringify(choice.finish_reason)}`,
  )
  const { message } = choice
  must(message.role === 'assistant', 'the role is assistant')
  readTexts(made, message)
  must(
    message.tool_calls === undefined || (Array.isArray(message.tool_calls) && message.tool_calls.length > 0),
    'calls',
  )
  for (const call of (message.tool_calls ?? []) as JsonObject[]) {
    const { function: details, id, type } = call
    must(
      typeof id === 'string' && id !== '' && !made.ids.has(id) && type === 'function',
      'each call has its own id',
    )
    must(isObject(details) && typeof details.name === 'string' && details.name !== '', 'a call has a name')
    const mayLackArguments = choice.finish_reason === 'length'
    must(
      typeof details.arguments === 'string' && (details.arguments !== '' || mayLackArguments),
      'a call that was not cut off has arguments',
    )
    made.ids.add(id)
    made.calls.push({ name: details.name, arguments: details.arguments })
  }
  must(isObject(reply.usage), 'a reply has a usage')
  made.finish = choice.finish_reason as string
  const native = choice.native_finish_reason
  must(native === undefined || typeof native === 'string', 'the native reason is text')
  return { ...made, native: native as string | undefined, usage: reply.usage, error: undefined, isDone: true }
}
