import { strict as assert } from 'node:assert'

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape, each member of which is asserted
type Json = Record<string, any>

export interface ReadResponse {
  readonly events: readonly Json[]
  /** The response in the last event. */
  readonly response: Json
  /** The items, put together from the deltas alone. */
  readonly items: readonly Json[]
}

interface OpenItem {
  readonly added: Json
  readonly parts: Json[]
  /** Whether the last part is open. */
  isPartOpen: boolean
  text: string
  isDone: boolean
  hasDeltas: boolean
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/**
 * Reads a stream of the Responses API as its specification has it, and throws for the first event that is out of place:
 * names, numbers, the order within an item, and deltas that add up to what `done` events and the last response say.
 */
export function readResponseStream(stream: string): ReadResponse {
  const events = stream
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      const [first = '', second = '', ...rest] = frame.split('\n')
      assert.deepEqual(rest, [], 'an event has a name and one line of data')
      const event: Json = JSON.parse(second.replace(/^data: /, ''))
      assert.equal(first, `event: ${event.type}`, 'an event is named by its type')
      return event
    })
  const reading = new Reading()
  for (const [position, event] of events.entries()) {
    assert.equal(event.sequence_number, position, `the number of ${event.type}`)
    assert.equal(reading.response, undefined, `${event.type} after the end`)
    reading.take(event, position)
  }
  assert(reading.response !== undefined, 'the stream ends with the response')
  return { events, response: reading.response, items: reading.response.output }
}

class Reading {
  response: Json | undefined
  private readonly items: OpenItem[] = []

  take(event: Json, position: number): void {
    const { type } = event
    if (position < 2) {
      assert.equal(type, ['response.created', 'response.in_progress'][position])
      assert.equal(event.response.status, 'in_progress')
      assert.deepEqual(event.response.output, [])
      return
    }
    if (ENDS.has(type)) {
      this.end(event)
      return
    }
    if (type === 'response.output_item.added') {
      assert.equal(event.output_index, this.items.length, 'items are numbered in their order')
      const { item } = event
      assert.equal(typeof item.id, 'string')
      const text = ''
      this.items.push({ added: item, parts: [], isPartOpen: false, text, isDone: false, hasDeltas: false })
      return
    }
    const item = this.items[event.output_index]
    assert(item !== undefined && !item.isDone, `${type} belongs to an open item`)
    if (type === 'response.output_item.done') {
      this.itemDone(item, event.item)
      return
    }
    assert.equal(event.item_id, item.added.id, `the item of ${type}`)
    const handler = HANDLERS[type]
    assert(handler !== undefined, `unknown event ${type}`)
    handler(item, event)
  }

  private itemDone(open: OpenItem, item: Json): void {
    open.isDone = true
    assert.equal(item.id, open.added.id)
    assert.equal(item.type, open.added.type)
    assert.equal(open.isPartOpen, false, 'the parts of an item end before it')
    if (item.type === 'message') assert.deepEqual(item.content, open.parts)
    if (item.type === 'reasoning') assert.deepEqual(item.summary, open.parts)
    if (item.type === 'function_call') assert.equal(item.arguments, open.text)
    if (item.type === 'custom_tool_call') assert.equal(item.input, open.text)
  }

  private end({ response, type }: Json): void {
    assert.equal(type, `response.${response.status}`)
    assert(
      this.items.every(({ isDone }) => isDone),
      'every item ends before the response',
    )
    assert.equal(response.output.length, this.items.length)
    for (const [index, item] of response.output.entries()) assert.equal(item.id, this.items[index]!.added.id)
    assert.equal(typeof response.usage?.cost, 'number', 'the usage has a cost')
    for (const name of ['input_tokens', 'output_tokens', 'total_tokens']) {
      assert(Number.isInteger(response.usage[name]), name)
    }
    assert(Number.isInteger(response.usage.input_tokens_details.cached_tokens))
    assert(Number.isInteger(response.usage.output_tokens_details.reasoning_tokens))
    assert.equal(response.store, false)
    if (type === 'response.failed') assert.equal(typeof response.error.code, 'string')
    else assert.equal(response.error, null)
    assert.equal(type === 'response.incomplete', response.incomplete_details !== null)
    this.response = response
  }
}

const lastPart = ({ isPartOpen, parts }: OpenItem, type: string): Json => {
  assert(isPartOpen, `${type} within a part`)
  return parts.at(-1)!
}

const HANDLERS: Record<string, (item: OpenItem, event: Json) => void> = {
  'response.content_part.added': (item, { content_index: index, part }) => {
    assert.equal(item.added.type, 'message')
    openPart(item, index, part)
  },
  'response.output_text.delta': (item, { delta }) => {
    assert.notEqual(delta, '')
    const part = lastPart(item, 'a delta')
    part.text += delta
  },
  'response.output_text.annotation.added': (item, { annotation, annotation_index: index }) => {
    const { annotations } = lastPart(item, 'an annotation')
    assert.equal(index, annotations.length)
    annotations.push(annotation)
  },
  'response.output_text.done': (item, { text }) => {
    assert.equal(text, lastPart(item, 'the end of a text').text)
  },
  'response.refusal.delta': (item, { delta }) => {
    lastPart(item, 'a delta').refusal += delta
  },
  'response.refusal.done': (item, { refusal }) => {
    assert.equal(refusal, lastPart(item, 'the end of a refusal').refusal)
  },
  'response.content_part.done': (item, { part }) => closePart(item, part),
  'response.reasoning_summary_part.added': (item, { part, summary_index: index }) => {
    assert.equal(item.added.type, 'reasoning')
    openPart(item, index, part)
  },
  'response.reasoning_summary_text.delta': (item, { delta }) => {
    lastPart(item, 'a delta').text += delta
  },
  'response.reasoning_summary_text.done': (item, { text }) => {
    assert.equal(text, lastPart(item, 'the end of a summary').text)
  },
  'response.reasoning_summary_part.done': (item, { part }) => closePart(item, part),
  'response.function_call_arguments.delta': (item, { delta }) => {
    assert.equal(item.added.type, 'function_call')
    item.text += delta
  },
  'response.function_call_arguments.done': (item, { arguments: args, name }) => {
    assert.equal(name, item.added.name)
    assert.equal(args, item.text)
  },
  'response.custom_tool_call_input.delta': (item, { delta }) => {
    assert.equal(item.added.type, 'custom_tool_call')
    item.text += delta
  },
  'response.custom_tool_call_input.done': (item, { input }) => {
    assert.equal(input, item.text)
  },
}

function openPart(item: OpenItem, index: unknown, part: Json): void {
  assert.equal(item.isPartOpen, false, 'one part is open at a time')
  assert.equal(index, item.parts.length)
  item.isPartOpen = true
  item.parts.push(structuredClone(part))
}

function closePart(item: OpenItem, part: Json): void {
  const open = lastPart(item, 'the end of a part')
  // The probabilities of tokens come with the deltas.
  assert.deepEqual({ ...open, logprobs: undefined }, { ...part, logprobs: undefined })
  item.parts[item.parts.length - 1] = part
  item.isPartOpen = false
}
