import { useEffect, useRef, useState } from 'preact/hooks'
import { read } from '../api.js'
import { asProblem } from '../problem.js'
import type { CallBody, Message } from './call-body.js'
import {
  addFrame,
  type CallError,
  type Cost,
  emptyReply,
  type Reply,
  readError,
  readEvents,
} from './reply-reader.js'
import { type Role, useToken } from './use-token.js'

/** One thing that was said, or a reply that is coming in. */
export interface Turn {
  readonly number: number
  readonly message: Message
  /** Of a reply alone. */
  readonly reply?: Reply
  readonly state: 'sent' | 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'
  readonly requestId?: string
  /** Who pays; absent where the page does not know. */
  readonly account?: string
  readonly startedAt?: number
  readonly firstTokenMs?: number
  readonly durationMs?: number
}

export interface Conversation {
  readonly turns: readonly Turn[]
  /** What the last call brought, frame by frame, cut to the newest. */
  readonly frames: readonly string[]
  readonly isRunning: boolean
  /** Sends what was said before and these messages too; `bodyOf` makes the request of all. */
  send(role: Role, said: readonly Message[], bodyOf: (messages: readonly Message[]) => CallBody): void
  stop(): void
  clear(): void
}

const MAX_FRAMES = 2_000
/** How often the books are asked for the charge of a call that was stopped, and how far apart. */
const CHARGE_LOOKS = 40
const CHARGE_LOOK_MS = 500

/** The conversation on the page, and its calls to the router. `onPaid` is told when a balance may have moved. */
export function useConversation(url: string, onPaid: () => void): Conversation {
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [frames, setFrames] = useState<readonly string[]>([])
  const [isRunning, setRunning] = useState(false)
  const running = useRef<AbortController>(undefined)
  const isGone = useRef(false)
  const counter = useRef(0)
  const tokens = useToken()
  useEffect(
    () => () => {
      isGone.current = true
      running.current?.abort()
    },
    [],
  )

  const nextNumber = (): number => ++counter.current
  const change = (number: number, changes: (turn: Turn) => Partial<Turn>): void =>
    setTurns((before) =>
      before.map((turn) => (turn.number === number ? { ...turn, ...changes(turn) } : turn)),
    )
  const addLine = (line: string): void => setFrames((before) => [...before.slice(1 - MAX_FRAMES), line])

  async function call(number: number, role: Role, body: CallBody, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now()
    const token = await tokens.take(role)
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
    const requestId = response.headers.get('x-request-id')
    change(number, () => (requestId === null ? {} : { requestId }))
    addLine(`HTTP ${response.status} · ${response.headers.get('content-type') ?? ''}`)
    if (response.status === 401) tokens.drop(role)
    const take = (json: string): void => {
      addLine(`data: ${json}`)
      if (json === '[DONE]') {
        change(number, ({ reply }) => ({ reply: { ...reply!, isDone: true } }))
        return
      }
      change(number, ({ reply, firstTokenMs }) => ({
        state: 'streaming',
        reply: addFrame(reply!, json),
        firstTokenMs: firstTokenMs ?? performance.now() - startedAt,
      }))
    }
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (isStream && response.body !== null) {
      await readEvents(response.body, take, (comment) => addLine(`: ${comment}`))
    } else {
      const text = await response.text()
      addLine(text)
      if (response.ok) change(number, ({ reply }) => ({ reply: { ...addFrame(reply!, text), isDone: true } }))
      else fail(number, readError(asJson(text), response.status))
    }
    change(number, ({ reply, state }) => ({
      durationMs: performance.now() - startedAt,
      ...(state === 'failed' ? {} : endOf(reply!)),
    }))
  }

  const fail = (number: number, error: CallError): void =>
    change(number, ({ reply }) => ({ state: 'failed', reply: { ...(reply ?? emptyReply), error } }))

  /** Who stops still pays for what the provider writes on; the books tell what it was. */
  async function awaitCharge(number: number, account: string | undefined, requestId: string): Promise<void> {
    for (let look = 0; look < CHARGE_LOOKS && !isGone.current; look++) {
      const { events } = await read('api/events', {
        ...(account === undefined ? {} : { account }),
        limit: 100,
      })
      const found = events.find((event) => event.type === 'request-end' && event.requestId === requestId)
      const charge = found?.charge
      if (found !== undefined) {
        const cost =
          charge === undefined
            ? nothing
            : { ...nothing, ...charge, ...tokensOf(charge.usage), isByok: charge.byok }
        change(number, ({ reply }) => ({ reply: { ...reply!, cost } }))
        return onPaid()
      }
      await new Promise((resolve) => setTimeout(resolve, CHARGE_LOOK_MS))
    }
  }

  return {
    turns,
    frames,
    isRunning,
    send(role, said, bodyOf) {
      const earlier = turns.filter(
        ({ state, reply }) =>
          state === 'sent' ||
          (reply !== undefined && reply.text !== '') ||
          (reply?.toolCalls.length ?? 0) > 0,
      )
      const body = bodyOf([...earlier.map(messageOf), ...said])
      const sent = said.map((message): Turn => ({ number: nextNumber(), message, state: 'sent' }))
      const number = nextNumber()
      const waiting: Turn = {
        number,
        message: { role: 'assistant' },
        reply: emptyReply,
        state: 'waiting',
        ...(role.account === undefined ? {} : { account: role.account }),
      }
      const controller = new AbortController()
      running.current = controller
      setTurns([...turns, ...sent, waiting])
      setFrames([])
      setRunning(true)
      call(number, role, body, controller.signal)
        .catch((caught: unknown) => {
          if (!controller.signal.aborted) fail(number, unreachable(caught))
        })
        .finally(() => {
          if (isGone.current) return
          setRunning(false)
          onPaid()
          if (!controller.signal.aborted) return
          setTurns((before) => {
            const stopped = before.find((turn) => turn.number === number)
            if (stopped?.requestId !== undefined) {
              awaitCharge(number, role.account, stopped.requestId).catch(() => undefined)
            }
            return before.map((turn) => (turn.number === number ? { ...turn, state: 'stopped' } : turn))
          })
        })
    },
    stop: () => running.current?.abort(),
    clear: () => {
      running.current?.abort()
      setTurns([])
      setFrames([])
    },
  }
}

const nothing: Cost = {
  cost: '0',
  base: '0',
  markup: '0',
  basis: 'reported',
  isByok: false,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
}

function tokensOf(usage: {
  prompt: number
  cached: number
  completion: number
  reasoning: number
}): Partial<Cost> {
  return {
    promptTokens: usage.prompt,
    cachedTokens: usage.cached,
    completionTokens: usage.completion,
    reasoningTokens: usage.reasoning,
  }
}

function endOf(reply: Reply): Partial<Turn> {
  if (reply.error !== undefined) return { state: 'failed' }
  if (reply.isDone) return { state: 'done' }
  const message = 'The stream ended before it was complete.'
  return { state: 'failed', reply: { ...reply, error: { message, code: 'incomplete', status: 0 } } }
}

function unreachable(caught: unknown): CallError {
  const { message, status } = asProblem(caught)
  const isNetwork = caught instanceof TypeError
  return {
    message: isNetwork ? 'The connection to the router broke off, or it cannot be reached.' : message,
    code: isNetwork ? 'unreachable' : 'console',
    status,
  }
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A turn as it goes into the next request. */
function messageOf({ message, reply }: Turn): Message {
  if (reply === undefined) return message
  const calls = reply.toolCalls.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }))
  return { role: 'assistant', content: reply.text, ...(calls.length === 0 ? {} : { tool_calls: calls }) }
}
