import { strict as assert } from 'node:assert'
import type { ProviderEvent } from '../../contracts/index.js'
import type { ProviderDelta } from '../../conversation/delta.js'
import { mapFinishReason } from '../../protocol/finish-reason.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'
import { fromWire } from '../../protocol/wire-bytes.js'

/** The content of one call's events, from deltas, chunks or a completion. */
export interface Reply {
  read(events: readonly ProviderEvent[]): void
  readonly text: string
  readonly toolCalls: readonly { id: string; name: string; arguments: string }[]
  /** In OpenAI's terms. */
  readonly finishReasons: readonly string[]
  /** The largest reported value of each field. */
  readonly usage: UsageReport
  /** Whether the last usage came with or after the finish reason, so that it is final. */
  readonly usageIsFinal: boolean
  /** Whether an unparsed chunk was not a JSON object. The router detects that and ends the call as an invalid response. */
  readonly hasNonsense: boolean
}

type Fields = Readonly<Record<string, unknown>>

export function createReply(): Reply {
  const pieces: string[] = []
  const calls = new Map<unknown, { id: string; name: string; arguments: string }>()
  const finishReasons: string[] = []
  const usage: Record<string, unknown> = {}
  let usageIsFinal = false
  let hasNonsense = false

  const readCall = (entry: unknown, position: number) => {
    const fields = objectOf(entry, 'a tool call')
    const definition = objectOf(fields.function, 'the function of a tool call')
    const index = fields.index ?? position
    const call = calls.get(index) ?? { id: '', name: '', arguments: '' }
    calls.set(index, call)
    if (fields.id !== undefined) call.id = stringOf(fields.id, 'the id of a tool call')
    if (definition.name !== undefined) call.name = stringOf(definition.name, 'the name of a function')
    if (definition.arguments !== undefined) {
      call.arguments += stringOf(definition.arguments, 'the arguments of a function')
    }
  }
  const readChoice = (choice: unknown, body: 'delta' | 'message') => {
    const fields = objectOf(choice, 'a choice')
    const message = objectOf(fields[body], `the ${body} of a choice`)
    if (typeof message.content === 'string') pieces.push(message.content)
    if (Array.isArray(message.tool_calls)) message.tool_calls.forEach(readCall)
    if (typeof fields.finish_reason === 'string') finishReasons.push(mapFinishReason(fields.finish_reason))
  }
  const readDelta = (delta: ProviderDelta) => {
    if (delta.type === 'text' && delta.kind === 'text') pieces.push(delta.text)
    else if (delta.type === 'end') finishReasons.push(mapFinishReason(delta.reason))
    else if (delta.type === 'call') {
      const key = delta.call ?? delta.id
      const call = calls.get(key) ?? { id: '', name: '', arguments: '' }
      calls.set(key, call)
      if (delta.id !== undefined) call.id = stringOf(delta.id, 'the id of a tool call')
      if (delta.name !== undefined) call.name = stringOf(delta.name, 'the name of a tool')
      call.arguments += stringOf(delta.input, 'the input of a tool call')
    }
  }
  const readUsage = (report: UsageReport) => {
    usageIsFinal = finishReasons.length > 0
    for (const [count, value] of Object.entries(report)) {
      const known = usage[count]
      if (value !== undefined && !(isCount(known) && isCount(value) && known > value)) usage[count] = value
    }
  }
  const readEvent = (event: ProviderEvent) => {
    switch (event.type) {
      case 'deltas':
        return event.deltas.forEach(readDelta)
      case 'data': {
        const chunk = parse(fromWire(event.bytes))
        if (chunk === undefined) {
          hasNonsense = true
          return undefined
        }
        assert.equal(chunk.usage ?? null, null, 'an unparsed chunk must not contain usage')
        return listOf(chunk.choices).forEach((choice) => {
          readChoice(choice, 'delta')
        })
      }
      case 'chunk':
        return listOf(event.chunk.choices).forEach((choice) => {
          readChoice(choice, 'delta')
        })
      case 'completion': {
        return listOf(event.completion.choices).forEach((choice) => {
          readChoice(choice, 'message')
        })
      }
      case 'usage':
        return readUsage(event.usage)
    }
  }

  return {
    read: (events) => events.forEach(readEvent),
    get text() {
      return pieces.join('')
    },
    get toolCalls() {
      return [...calls.values()]
    },
    finishReasons,
    usage,
    get usageIsFinal() {
      return usageIsFinal
    },
    get hasNonsense() {
      return hasNonsense
    },
  }
}

function parse(text: string): Fields | undefined {
  try {
    return objectOf(JSON.parse(text), 'a chunk')
  } catch {
    return undefined
  }
}

function objectOf(value: unknown, name: string): Fields {
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `${name} must be an object`)
  return value as Fields
}

function stringOf(value: unknown, name: string): string {
  assert.ok(typeof value === 'string', `${name} must be a string`)
  return value
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
