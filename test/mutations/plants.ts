import { isProviderError } from 'compat-router'
import type { ProviderAdapter, ProviderEvent } from 'compat-router/adapters'
import { aroundChats, type Run } from '../helpers/around-chats.js'
import type { JsonObject } from '../recordings/recording.js'
import { isObject } from './shapes.js'

/** A bug made on purpose, to check that the mutations find it. */
export interface Plant {
  readonly name: string
  /** The promises that it breaks. It counts as found when one of these is reported broken. */
  readonly breaks: readonly string[]
  readonly adapter: (adapter: ProviderAdapter) => ProviderAdapter
}

function chat(change: Run): Plant['adapter'] {
  return (adapter) => aroundChats(adapter, change)
}

/** Changes the events of each reply. `change` is made anew for each call. */
function events(make: () => (event: ProviderEvent) => readonly ProviderEvent[]): Plant['adapter'] {
  return chat((ask) => (call, take) => {
    const change = make()
    return ask(call, (given) => take(given.map(parsed).flatMap(change)))
  })
}

/** A line that was passed on as it came, as a chunk. */
function parsed(event: ProviderEvent): ProviderEvent {
  if (event.type !== 'data') return event
  try {
    return { type: 'chunk', chunk: JSON.parse(Buffer.from(event.bytes, 'latin1').toString()) }
  } catch {
    return event
  }
}

/** Changes the choices of each event. */
function choices(change: (choice: JsonObject) => void): Plant['adapter'] {
  return events(() => (event) => {
    const reply =
      event.type === 'chunk' ? event.chunk : event.type === 'completion' ? event.completion : undefined
    if (Array.isArray(reply?.choices))
      for (const choice of reply.choices) if (isObject(choice)) change(choice)
    return [event]
  })
}

function saidIn({ delta, message }: JsonObject): JsonObject {
  return isObject(delta) ? delta : isObject(message) ? message : {}
}

const MANY_TEXTS = 3

export const PLANTS: readonly Plant[] = [
  {
    name: 'text-frame-dropped',
    breaks: ['lost-text'],
    adapter: events(() => {
      let texts = 0
      return (event) => {
        const isText = event.type === 'chunk' && JSON.stringify(event.chunk).includes('"content":"')
        return isText && ++texts === MANY_TEXTS ? [] : [event]
      }
    }),
  },
  {
    name: 'reasoning-vanishes',
    breaks: ['lost-text'],
    adapter: choices((choice) => {
      const said = saidIn(choice)
      delete said.reasoning
      delete said.reasoning_content
    }),
  },
  {
    name: 'cut-reply-taken-for-whole',
    breaks: ['bad-reply-passed'],
    adapter: chat((ask) => async (call, take) => {
      try {
        await ask(call, take)
      } catch (error) {
        if (!isProviderError(error) || error.reason !== 'cut-short') throw error
      }
      return { terminated: true }
    }),
  },
  {
    name: 'error-taken-for-the-end',
    breaks: ['bad-reply-passed'],
    adapter: chat((ask) => async (call, take) => {
      try {
        return await ask(call, take)
      } catch (error) {
        if (isProviderError(error) && error.reason === 'error-frame') return { terminated: true }
        throw error
      }
    }),
  },
  {
    name: 'usage-ignored',
    breaks: ['wrong-charge'],
    adapter: events(() => (event) => (event.type === 'usage' ? [] : [event])),
  },
  {
    name: 'usage-added-up',
    breaks: ['wrong-charge'],
    adapter: events(() => {
      let completion = 0
      return (event) => {
        if (event.type !== 'usage' || typeof event.usage.completion !== 'number') return [event]
        completion += event.usage.completion
        return [{ type: 'usage', usage: { ...event.usage, completion } }]
      }
    }),
  },
  {
    name: 'wrong-counts-passed',
    breaks: ['wrong-charge'],
    adapter: events(() => (event) => {
      if (event.type !== 'usage') return [event]
      const { prompt } = event.usage
      return [
        {
          type: 'usage',
          usage: { ...event.usage, prompt: typeof prompt === 'string' ? Number(prompt) : prompt },
        },
      ]
    }),
  },
  {
    name: 'calls-joined-into-one',
    breaks: ['lost-call'],
    adapter: choices((choice) => {
      const { tool_calls: calls } = saidIn(choice)
      if (!Array.isArray(calls)) return
      for (const call of calls) {
        if (!isObject(call)) continue
        call.index = 0
        if (isObject(call.function)) delete call.id
      }
    }),
  },
  {
    name: 'failure-word-taken-for-stop',
    breaks: ['bad-reply-passed', 'wrong-end'],
    adapter: choices((choice) => {
      if (typeof choice.finish_reason === 'string' && /error|abort|timeout/i.test(choice.finish_reason)) {
        choice.finish_reason = 'stop'
      }
    }),
  },
  {
    name: 'length-taken-for-stop',
    breaks: ['wrong-end'],
    adapter: choices((choice) => {
      if (choice.finish_reason === 'length') choice.finish_reason = 'stop'
    }),
  },
  {
    name: 'odd-choices-fail',
    breaks: ['good-reply-failed'],
    adapter: choices((choice) => {
      if (typeof choice.index !== 'number') throw new TypeError('The choice has no index.')
    }),
  },
]
