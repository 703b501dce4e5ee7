import type { JsonObject } from '../recordings/recording.js'
import type { CountReport } from './counts.js'
import { valid } from './counts.js'
import { saysFailure, wordIn } from './finish-words.js'
import type { Hearing } from './hearing.js'
import { objectsIn } from './openai.js'
import { isObject, saysNothing, scalar, textsIn } from './shapes.js'
import { type Item, parsed } from './sse.js'

interface Block {
  /** `own` if only this API has such blocks, `lost` if it cannot be read. */
  readonly kind: 'text' | 'thinking' | 'tool_use' | 'own' | 'lost'
  readonly call: number
  readonly input: unknown
  hasArguments: boolean
}

const KINDS: readonly unknown[] = ['text', 'thinking', 'tool_use']
const WANTED: Readonly<Record<string, Block['kind']>> = {
  text_delta: 'text',
  citations_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
  input_json_delta: 'tool_use',
}

function kindOf(block: unknown): Block['kind'] {
  if (!isObject(block) || typeof block.type !== 'string' || block.type === '') return 'lost'
  return KINDS.includes(block.type) ? (block.type as Block['kind']) : 'own'
}

/** What a block or delta has besides its type, if only this API can read it. It counts in an estimate. */
function ownText({ type: _, ...members }: JsonObject): string {
  return textsIn(members)
}

/** The input at the start of a call. */
function inputText(input: unknown): string {
  if (saysNothing(input)) return ''
  if (isObject(input)) return JSON.stringify(input)
  if (typeof input !== 'string') return JSON.stringify({ arguments: JSON.stringify(input) })
  return isObject(parsed(input)) ? input : JSON.stringify({ arguments: input })
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
  const piece = (call: number, args: string): void =>
    hearing.say({ calls: [{ index: call, function: { arguments: args } }] })
  const giveInput = (block: Block): void => {
    const input = block.hasArguments || block.kind !== 'tool_use' ? '' : inputText(block.input)
    if (input === '') return
    block.hasArguments = true
    piece(block.call, input)
  }
  const stop = (index: unknown): void => {
    const block = blocks.get(index)
    blocks.delete(index)
    if (block === undefined) return
    giveInput(block)
    if (block.kind === 'tool_use') hearing.endCall(block.call)
  }
  const stopAll = (): void => {
    for (const index of [...blocks.keys()]) stop(index)
  }
  const lose = (what: unknown): void => hearing.lose(textsIn(what))
  const text = (holder: JsonObject, name: string, say: (text: string) => void): void => {
    const value = holder[name]
    const read = scalar(value)
    if (read !== undefined && read !== '') say(read)
    else if (read === undefined && !saysNothing(value)) lose(holder)
  }
  let isApart = false
  const thought = (holder: JsonObject): void =>
    text(holder, 'thinking', (reasoning) => {
      hearing.say({ reasoning, isApart, isOther: true })
      isApart = false
    })
  const said = (holder: JsonObject): void => text(holder, 'text', (each) => hearing.say({ text: each }))
  const start = (index: unknown, content: unknown): void => {
    for (const [key, block] of [...blocks]) {
      if (block.kind !== 'tool_use' || key === index) stop(key)
      else giveInput(block)
    }
    const kind = kindOf(content)
    const input = isObject(content) ? content.input : undefined
    blocks.set(index, { kind, call: calls, input, hasArguments: false })
    if (!isObject(content) || kind === 'lost') {
      lose(content)
      return
    }
    if (kind === 'text') {
      if (Array.isArray(content.citations)) {
        for (const citation of content.citations) hearing.say({ older: textsIn(citation) })
      }
      said(content)
    } else if (kind === 'thinking') {
      isApart = true
      thought(content)
      if (typeof content.signature === 'string' && content.signature !== '') hearing.say({ isOther: true })
    } else if (kind === 'tool_use') {
      const { id, name } = content
      const called = { name: typeof name === 'string' ? name : '', arguments: '' }
      hearing.say({ calls: [{ index: calls++, id: id ?? null, type: 'function', function: called }] })
    } else if (content.type === 'redacted_thinking') {
      isApart = true
      hearing.say({ isOther: true })
    } else hearing.say({ isOther: true, older: ownText(content) })
  }
  const hearDelta = (index: unknown, delta: unknown): void => {
    if (!isObject(delta) || typeof delta.type !== 'string' || delta.type === '') {
      lose(delta)
      return
    }
    const wanted = Object.hasOwn(WANTED, delta.type) ? WANTED[delta.type] : undefined
    let block = blocks.get(index)
    // One block follows the other, so a wrong index means the one that is open.
    if (wanted !== undefined && block?.kind !== wanted && block?.kind !== 'own' && block?.kind !== 'lost') {
      const last = [...blocks.values()].at(-1)
      block = last?.kind === wanted || last?.kind === 'lost' ? last : undefined
    }
    if (block?.kind === 'lost') lose(delta)
    else if (block?.kind === 'own' || (block !== undefined && wanted === undefined))
      hearing.say({ older: ownText(delta) })
    else if (delta.type === 'text_delta') said(delta)
    else if (delta.type === 'thinking_delta') thought(delta)
    else if (delta.type === 'citations_delta') hearing.say({ older: ownText(delta) })
    else if (delta.type === 'signature_delta') {
      if (typeof delta.signature === 'string' && delta.signature !== '') hearing.say({ isOther: true })
    } else if (delta.type === 'input_json_delta') {
      text(delta, 'partial_json', (json) => {
        if (block === undefined) {
          lose(delta)
          return
        }
        block.hasArguments = true
        piece(block.call, json)
      })
    }
  }

  const hear = (event: JsonObject): void => {
    switch (event.type) {
      case 'message_start':
        if (!isObject(event.message)) hearing.fail('invalid')
        else hearing.count(counts.read(event.message.usage))
        return
      case 'content_block_start':
        start(event.index, event.content_block)
        return
      case 'content_block_delta':
        hearDelta(event.index, event.delta)
        return
      case 'content_block_stop':
        stop(event.index)
        return
      case 'message_delta': {
        const { delta } = event
        if (!isObject(delta)) {
          hearing.fail('invalid')
          return
        }
        const word = delta.stop_reason ?? null
        if (wordIn({ finish_reason: word }) !== undefined || saysFailure({ finish_reason: word })) {
          for (const block of blocks.values()) giveInput(block)
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
    let isLost = ''
    let hasLost = false
    for (const [position, block] of body.content.entries()) {
      if (saysNothing(block)) continue
      const kind = kindOf(block)
      const name = kind === 'text' ? 'text' : 'thinking'
      const said = isObject(block) && (kind === 'text' || kind === 'thinking') ? block[name] : ''
      if (!isObject(block) || kind === 'lost' || (scalar(said) === undefined && !saysNothing(said))) {
        hasLost = true
        isLost += textsIn(block)
        continue
      }
      hearBlock(hearing, block, kind, position)
    }
    hearing.end({ finish_reason: typeof body.stop_reason === 'string' ? body.stop_reason : null })
    if (hasLost) hearing.lose(isLost)
    hearing.count(new InputCounts().read(body.usage))
    hearing.done()
  }
}

function hearBlock(hearing: Hearing, block: JsonObject, kind: Block['kind'], position: number): void {
  const { citations, id, input, name, signature, text, thinking, type } = block
  if (kind === 'text') {
    const sources = Array.isArray(citations) ? textsIn(citations) : ''
    hearing.say({ text: scalar(text) ?? '', older: sources })
  } else if (kind === 'thinking') {
    const reasoning = scalar(thinking) ?? ''
    hearing.say({
      reasoning,
      isApart: true,
      isOther: reasoning !== '' || (typeof signature === 'string' && signature !== ''),
    })
  } else if (kind === 'tool_use') {
    const called = { name: typeof name === 'string' ? name : '', arguments: inputText(input) }
    hearing.say({ calls: [{ index: position, id: id ?? null, type: 'function', function: called }] })
    hearing.endCall(position)
  } else if (type === 'redacted_thinking') hearing.say({ isOther: true })
  else hearing.say({ isOther: true, older: ownText(block) })
}
