import type { Json, JsonObject } from '../recordings/recording.js'
import type { CountReport } from './counts.js'
import { valid } from './counts.js'
import { saysFailure } from './finish-words.js'
import type { Hearing } from './hearing.js'
import { objectsIn } from './openai.js'
import { isObject, saysNothing, scalar } from './shapes.js'
import type { Item } from './sse.js'

interface Block {
  readonly type: unknown
  readonly call: number
  readonly input: unknown
  hasArguments: boolean
}

/** The input counts so far: a message repeats only some of them. */
class InputCounts {
  private readonly known: JsonObject = {}

  read(usage: unknown): CountReport | undefined {
    if (!isObject(usage)) return undefined
    for (const name of ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']) {
      const value = usage[name]
      if (value !== undefined && value !== null) this.known[name] = value
    }
    const {
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cached,
      input_tokens: fresh,
    } = this.known
    const input = valid(fresh, 1e9)
    const { output_tokens_details: details } = usage
    return {
      prompt: input === undefined ? fresh : input + (valid(cached, 1e9) ?? 0) + (valid(cacheWrite, 1e9) ?? 0),
      cached,
      cacheWrite,
      completion: usage.output_tokens ?? undefined,
      reasoning: isObject(details) ? (details.thinking_tokens ?? undefined) : undefined,
    }
  }
}

/** Reads a stream of the Messages API. */
export function hearStream(hearing: Hearing, items: readonly Item[]): void {
  const counts = new InputCounts()
  const blocks = new Map<unknown, Block>()
  let calls = 0
  const piece = (call: number, args: Json): void =>
    hearing.say({ calls: [{ index: call, function: { arguments: args } }] })
  const stop = (index: unknown): void => {
    const block = blocks.get(index)
    blocks.delete(index)
    if (block?.type !== 'tool_use' || block.hasArguments) return
    piece(block.call, JSON.stringify(block.input ?? {}))
  }
  const stopAll = (): void => {
    for (const index of [...blocks.keys()]) stop(index)
  }
  const lose = (): void => hearing.lose('')
  const text = (value: unknown, say: (text: string) => void): void => {
    if (value === undefined || value === null) return
    const read = scalar(value)
    if (read !== undefined) say(read)
    else if (!saysNothing(value)) lose()
  }
  const thought = (value: unknown): void =>
    text(value, (reasoning) => reasoning !== '' && hearing.say({ reasoning, isOther: true }))
  const said = (value: unknown): void => text(value, (each) => each !== '' && hearing.say({ text: each }))

  const hear = (event: JsonObject): void => {
    switch (event.type) {
      case 'message_start':
        if (!isObject(event.message)) hearing.fail('invalid')
        else hearing.count(counts.read(event.message.usage))
        return
      case 'content_block_start': {
        const { content_block: content, index } = event
        if (!isObject(content)) {
          lose()
          return
        }
        const isNamed = typeof content.name === 'string' && content.name !== ''
        const isCall = content.type === 'tool_use'
        const type = isCall && !isNamed ? undefined : content.type
        blocks.set(index, { type, call: calls, input: content.input, hasArguments: false })
        if (isCall && !isNamed) {
          lose()
          return
        }
        if (content.type === 'text') said(content.text)
        else if (content.type === 'thinking') thought(content.thinking)
        else if (content.type === 'redacted_thinking') hearing.say({ isOther: true })
        else if (isCall) {
          const { id, name } = content
          hearing.say({
            calls: [
              { index: calls++, id: id ?? null, type: 'function', function: { name: name!, arguments: '' } },
            ],
          })
        }
        return
      }
      case 'content_block_delta': {
        const { delta, index } = event
        if (!isObject(delta)) {
          lose()
          return
        }
        if (delta.type === 'text_delta') said(delta.text)
        else if (delta.type === 'thinking_delta') thought(delta.thinking)
        else if (delta.type === 'signature_delta') {
          if (typeof delta.signature === 'string' && delta.signature !== '') hearing.say({ isOther: true })
        } else if (delta.type === 'input_json_delta') {
          // One block follows the other, so a wrong index means the one that is open.
          const block = blocks.get(index) ?? [...blocks.values()].at(-1)
          if (block !== undefined && block.type !== 'tool_use') return
          text(delta.partial_json, (json) => {
            if (json === '') return
            if (block === undefined) {
              lose()
              return
            }
            block.hasArguments = true
            piece(block.call, delta.partial_json!)
          })
        }
        return
      }
      case 'content_block_stop':
        stop(event.index)
        return
      case 'message_delta': {
        const { delta } = event
        if (!isObject(delta)) {
          hearing.fail('invalid')
          return
        }
        const word = delta.stop_reason
        if (typeof word === 'string' && word !== '') {
          stopAll()
          if (saysFailure({ finish_reason: word })) {
            hearing.count(counts.read(event.usage), true)
            hearing.fail('error')
            return
          }
          hearing.end({ finish_reason: word })
        }
        hearing.count(counts.read(event.usage))
        return
      }
      case 'message_stop':
        stopAll()
        hearing.done()
        return
      case 'error':
        hearing.fail('error')
    }
  }

  for (const item of items) {
    if (hearing.isOver) return
    if (item.kind !== 'data') hearing.fail(item.kind)
    else if (item.type === 'error') hearing.fail('error')
    else if (item.data.trim() !== '') {
      const objects = objectsIn(item)
      if (objects === undefined) hearing.fail('invalid')
      else for (const event of objects) if (!hearing.isOver) hear(event)
    }
  }
}

/** Reads a whole message of the Messages API. */
export function hearBody(hearing: Hearing, body: unknown): void {
  if (isObject(body) && body.type === 'error') hearing.fail('error')
  else if (!isObject(body) || !Array.isArray(body.content)) hearing.fail('invalid')
  else if (typeof body.stop_reason === 'string' && saysFailure({ finish_reason: body.stop_reason }))
    hearing.fail('error')
  else {
    const thoughts: string[] = []
    let text = ''
    let isOther = false
    const calls: JsonObject[] = []
    let isLost = false
    let hadCalls = false
    for (const block of body.content) {
      if (!isObject(block)) {
        isLost ||= !saysNothing(block)
        continue
      }
      const said = block.type === 'text' ? block.text : block.type === 'thinking' ? block.thinking : ''
      if (scalar(said) === undefined && !saysNothing(said)) {
        isLost = true
        continue
      }
      if (block.type === 'text') text += scalar(block.text) ?? ''
      else if (block.type === 'thinking') {
        isOther = true
        const thinking = scalar(block.thinking) ?? ''
        if (thinking !== '') thoughts.push(thinking)
      } else if (block.type === 'redacted_thinking') isOther = true
      else if (block.type === 'tool_use') {
        hadCalls = true
        if (typeof block.name !== 'string' || block.name === '') isLost = true
        else {
          calls.push({
            id: block.id ?? null,
            function: { name: block.name, arguments: JSON.stringify(block.input ?? {}) },
          })
        }
      }
    }
    hearing.say({ text, reasoning: thoughts.join('\n\n'), isOther, ...(hadCalls && { calls }) })
    if (typeof body.stop_reason === 'string') hearing.end({ finish_reason: body.stop_reason })
    if (isLost) hearing.lose('')
    hearing.count(new InputCounts().read(body.usage))
    hearing.done()
  }
}
