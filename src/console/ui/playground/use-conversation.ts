import { useEffect, useRef, useState } from 'preact/hooks'
import { read } from '../base/api.js'
import { asProblem } from '../base/problem.js'
import { randomId } from '../base/random-id.js'
import { type Role, useToken } from '../base/use-token.js'
import type { CallBody, Message } from './call-body.js'
import { messagesOf } from './messages.js'
import { addFrame, type CallError, emptyReply, type Reply, readError, readEvents } from './reply-reader.js'
import { stoppedCharge } from './stopped-charge.js'
import type { Turn } from './turn.js'

export interface Conversation {
  readonly turns: readonly Turn[]
  /** The newest frames of the last call. */
  readonly frames: readonly string[]
  readonly isRunning: boolean
  /** Sends the conversation so far and these messages. `bodyOf` creates the request from all of them. */
  send(role: Role, said: readonly Message[], bodyOf: (messages: readonly Message[]) => CallBody): void
  stop(): void
  clear(): void
}

const MAX_FRAMES = 2_000
/** The timeout of one look for a charge, so that a lost network does not delay the next look. */
const LOOK_MS = 5_000
/** Longer than a call lasts and than most clocks are wrong, but short enough to read little. */
const LEDGER_REACH_MS = 3_600_000

/** The conversation on the page, and its calls to the router. Calls `onPaid` when a balance may have changed. */
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

  /** Returns whether the reply was complete, and so reported the charge. */
  async function call(
    number: number,
    role: Role,
    body: CallBody,
    signal: AbortSignal,
    name: (requestId: string) => void,
  ): Promise<boolean> {
    const startedAt = performance.now()
    const token = await tokens.obtain(role)
    signal.throwIfAborted()
    // The page's own id, so that a call that is stopped before its reply can be found too.
    const ownId = randomId()
    name(ownId)
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-request-id': ownId,
      },
      body: JSON.stringify(body),
      signal,
    })
    // The host may have assigned another id.
    name(response.headers.get('x-request-id') ?? ownId)
    addLine(`HTTP ${response.status} · ${response.headers.get('content-type') ?? ''}`)
    if (response.status === 401) tokens.drop(role)
    let isComplete = false
    const accept = (json: string): void => {
      addLine(`data: ${json}`)
      if (json === '[DONE]') {
        isComplete = true
        change(number, ({ reply }) => ({ reply: { ...reply!, isDone: true } }))
        return
      }
      isComplete ||= json.startsWith('{"error":')
      change(number, ({ reply, firstTokenMs }) => ({
        state: 'streaming',
        reply: addFrame(reply!, json),
        firstTokenMs: firstTokenMs ?? performance.now() - startedAt,
      }))
    }
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (isStream && response.body !== null) {
      await readEvents(response.body, accept, (comment) => addLine(`: ${comment}`))
    } else {
      const text = await response.text()
      isComplete = true
      addLine(text)
      if (response.ok) change(number, ({ reply }) => ({ reply: { ...addFrame(reply!, text), isDone: true } }))
      else fail(number, readError(asJson(text), response.status))
    }
    change(number, ({ reply, state }) => ({
      durationMs: performance.now() - startedAt,
      ...(state !== 'failed' && endOf(reply!)),
    }))
    return isComplete
  }

  const fail = (number: number, error: CallError): void =>
    change(number, ({ reply }) => ({ state: 'failed', reply: { ...(reply ?? emptyReply), error } }))

  async function awaitCharge(number: number, account: string | undefined, requestId: string): Promise<void> {
    const query = { account, requestId }
    const from = Date.now() - LEDGER_REACH_MS
    // If the call ran in another process, only the ledger knows its charge.
    const look = async () => {
      const signal = AbortSignal.timeout(LOOK_MS)
      const [{ events }, { entries }] = await Promise.all([
        read('events', query, signal),
        read('entries', { ...query, from }, signal),
      ])
      return events.find(({ type }) => type === 'request-end') ?? entries.find(({ charge }) => charge)
    }
    const cost = await stoppedCharge(look, () => isGone.current)
    if (isGone.current) return
    change(number, ({ reply }) =>
      cost === undefined ? { isChargeLate: true } : { reply: { ...reply!, cost } },
    )
    onPaid()
  }

  return {
    turns,
    frames,
    isRunning,
    send(role, said, bodyOf) {
      const body = bodyOf(messagesOf(turns, said))
      const sent = said.map((message): Turn => ({ number: nextNumber(), message, state: 'sent' }))
      const number = nextNumber()
      const waiting: Turn = {
        number,
        message: { role: 'assistant' },
        reply: emptyReply,
        state: 'waiting',
        ...(role.account !== undefined && { account: role.account }),
      }
      const controller = new AbortController()
      running.current = controller
      setTurns([...turns, ...sent, waiting])
      setFrames([])
      setRunning(true)
      let requestId: string | undefined
      const name = (id: string): void => {
        requestId = id
        change(number, () => ({ requestId: id }))
      }
      call(number, role, body, controller.signal, name)
        .catch((caught: unknown) => {
          if (!controller.signal.aborted) fail(number, unreachable(caught))
          return !isNetworkFault(caught)
        })
        .then((isComplete) => {
          if (isGone.current) return
          setRunning(false)
          onPaid()
          const isStopped = controller.signal.aborted
          if (isStopped) change(number, () => ({ state: 'stopped' }))
          if (isComplete && !isStopped) return
          change(number, () => ({ isChargeUnreported: true }))
          if (requestId === undefined) return
          awaitCharge(number, role.account, requestId).catch(() => undefined)
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

function endOf(reply: Reply): Partial<Turn> {
  if (reply.error !== undefined) return { state: 'failed' }
  if (reply.isDone) return { state: 'done' }
  const message = 'The stream ended before it was complete.'
  return { state: 'failed', reply: { ...reply, error: { message, code: 'incomplete', status: 0 } } }
}

function unreachable(caught: unknown): CallError {
  if (caught instanceof SyntaxError) {
    return { message: 'The reply cannot be read.', code: 'unreadable', status: 0 }
  }
  const { message, status } = asProblem(caught)
  const isNetwork = isNetworkFault(caught)
  return {
    message: isNetwork ? 'The connection to the router was lost, or the router cannot be reached.' : message,
    code: isNetwork ? 'unreachable' : 'console',
    status,
  }
}

/** Recognises the errors that `fetch` and the reader of its body throw. */
const isNetworkFault = (caught: unknown): boolean => caught instanceof TypeError

function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
