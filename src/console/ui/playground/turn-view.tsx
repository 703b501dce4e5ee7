import { useState } from 'preact/hooks'
import { formatCount, formatDuration } from '../base/format.js'
import { hrefOf } from '../base/place.js'
import { Button } from '../parts/basics.js'
import { Field } from '../parts/fields.js'
import { Amount } from '../parts/values.js'
import type { Message } from './call-body.js'
import type { CallError, Cost, ToolCall } from './reply-reader.js'
import type { Turn } from './turn.js'

const NAMES: Readonly<Record<string, string>> = { user: 'You', assistant: 'Model', tool: 'Tool' }

interface TurnProps {
  readonly turn: Turn
  /** Called with the answers of the tools; absent if the conversation has continued. */
  readonly onResults?: ((messages: readonly Message[]) => void) | undefined
}

/** Shows messages only as text: nothing in them becomes markup of the page. */
export function TurnView({ turn, onResults }: TurnProps) {
  const { message, reply, state } = turn
  return (
    <li
      class={`turn ${message.role} ${hasSpoken(turn) ? '' : 'is-error'}`}
      aria-busy={state === 'waiting' || state === 'streaming'}
    >
      <h2>{hasSpoken(turn) ? (NAMES[message.role] ?? message.role) : 'The call failed'}</h2>
      {reply === undefined ? (
        <p class="said">{String(message.content)}</p>
      ) : (
        <>
          {reply.reasoning !== '' && (
            <details class="reasoning">
              <summary>Reasoning</summary>
              <p class="said">{reply.reasoning}</p>
            </details>
          )}
          {state === 'waiting' && <p class="waiting">Waiting for the first token …</p>}
          {reply.text !== '' && <p class="said">{reply.text}</p>}
          {reply.refusal !== '' && (
            <>
              <p class="waiting">The model refused:</p>
              <p class="said">{reply.refusal}</p>
            </>
          )}
          {reply.toolCalls.length > 0 && <ToolCalls calls={reply.toolCalls} onResults={onResults} />}
          {reply.otherChoices > 0 && (
            <p class="hint">
              The first of {formatCount(reply.otherChoices + 1)} choices. All of them are under Frames.
            </p>
          )}
          {reply.error !== undefined && <ErrorView error={reply.error} requestId={turn.requestId} />}
          {turn.isChargeUnreported === true && <UnreportedCharge turn={turn} />}
          {reply.cost !== undefined && <CostView cost={reply.cost} turn={turn} />}
        </>
      )}
    </li>
  )
}

/** An error that came instead of a reply was not written by the model. */
function hasSpoken({ reply }: Turn): boolean {
  if (reply?.error === undefined) return true
  return reply.text !== '' || reply.refusal !== '' || reply.reasoning !== '' || reply.toolCalls.length > 0
}

function CostView({ cost, turn }: { cost: Cost; turn: Turn }) {
  const { account, requestId, firstTokenMs, durationMs } = turn
  const finish = turn.reply?.finishReason
  return (
    <div class="cost">
      <span class="cost-sum" data-cost={cost.cost}>
        <Amount value={cost.cost} unit />
      </span>
      <span>
        base <Amount value={cost.base} />
      </span>
      <span>
        markup <Amount value={cost.markup} />
      </span>
      <span>
        {formatCount(cost.promptTokens)} in
        {cost.cachedTokens > 0 && ` (${formatCount(cost.cachedTokens)} cached)`},{' '}
        {formatCount(cost.completionTokens)} out
        {cost.reasoningTokens > 0 && ` (${formatCount(cost.reasoningTokens)} reasoning)`}
      </span>
      <span>{cost.basis === 'estimated' ? 'tokens estimated' : 'tokens as reported'}</span>
      {cost.isByok && <span>with the caller's own key</span>}
      {finish !== undefined && <span>ended: {finish}</span>}
      {firstTokenMs !== undefined && <span>first token {formatDuration(firstTokenMs)}</span>}
      {durationMs !== undefined && <span>{formatDuration(durationMs)}</span>}
      {requestId !== undefined && (
        <a href={hrefOf('calls', { account, call: requestId })}>Find it in Calls</a>
      )}
    </div>
  )
}

function UnreportedCharge({ turn: { reply, state, requestId, account, isChargeLate } }: { turn: Turn }) {
  const how = state === 'stopped' ? 'Stopped. ' : ''
  if (reply?.cost !== undefined) return <p class="waiting">{how}The call was charged:</p>
  if (requestId === undefined) return <p class="waiting">Stopped before it was sent.</p>
  return (
    <p class="waiting" role="status">
      {isChargeLate === true ? (
        <>
          {how}The router has not reported the charge yet.{' '}
          <a href={hrefOf('calls', { account, call: requestId })}>Look for it in Calls</a> later.
        </>
      ) : (
        `${how}The router may read the reply to its end and charge for it. The charge will appear here.`
      )}
    </p>
  )
}

function ErrorView({ error, requestId }: { error: CallError; requestId?: string | undefined }) {
  const from =
    error.source === undefined ? '' : ` by the ${error.source === 'provider' ? 'provider' : 'router'}`
  return (
    <div class="notice bad" role="alert">
      <strong>{error.message}</strong>
      <p>{adviceOn(error)}</p>
      <p class="where">
        {error.status > 0 ? `Status ${error.status}, ` : ''}
        <code>{error.code}</code>
        {from}
        {error.param !== undefined && (
          <>
            , in <code>{error.param}</code>
          </>
        )}
        {requestId !== undefined && (
          <>
            . Request <code>{requestId}</code>
          </>
        )}
      </p>
    </div>
  )
}

function ToolCalls({ calls, onResults }: { calls: readonly ToolCall[]; onResults: TurnProps['onResults'] }) {
  const [results, setResults] = useState<Readonly<Record<number, string>>>({})
  const send = (): void =>
    onResults?.(calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: results[at] ?? '' })))
  return (
    <div class="tool-calls">
      {calls.map((call, at) => (
        <div key={call.id}>
          <p>
            Calls <code>{call.name}</code> with
          </p>
          <pre class="code">{call.arguments}</pre>
          {onResults !== undefined && (
            <Field
              spec={{
                name: `result-${at}`,
                label: `Answer of ${call.name}`,
                kind: 'area',
                value: results[at],
              }}
              formId={call.id}
              onInput={(value) => setResults({ ...results, [at]: value })}
            />
          )}
        </div>
      ))}
      {onResults !== undefined && <Button onPress={send}>Send the answers</Button>}
    </div>
  )
}

const BY_CODE: Readonly<Record<string, string>> = {
  insufficient_credits:
    'Add credits to the account, choose a cheaper model, or set a smaller max_tokens, which reduces the hold.',
  credits_on_hold: 'Other calls hold these credits. Wait for them to end, or set a smaller max_tokens.',
  model_not_found: 'Choose a model from the list.',
  model_not_allowed:
    'The app or the key may not use this model. Choose another one, or another key, or have the app changed.',
  unsupported_parameter: 'Leave the parameter empty, or choose a model that takes it.',
  invalid_api_key:
    'This key is not known here. Check that it was copied completely, or let the console make one.',
  revoked_credential: 'This key was revoked. Make another under Keys.',
  expired_credential: 'This key has expired. Make another under Keys.',
  insufficient_scope: 'The access token lacks the scope models.run. Issue one that has it.',
  account_suspended: 'The account or the app is suspended. An operator can resume it.',
  price_missing: 'The model has no prices, so nobody may call it. An operator can set them under Models.',
  no_route_available:
    'No route serves this model, or all are failing. Live shows their state. An operator can add one under Routes.',
  no_route_matches: 'The routing preferences of the request leave no route. Relax them.',
  rate_limited: 'Wait a moment and send it again.',
  context_length_exceeded: 'Start a new conversation, or choose a model with a longer context.',
  provider_auth_failed: "The provider refuses the host's key. An operator can set another under Routes.",
  unreadable:
    'The reply is under Frames. If something other than the router answered, such as a sign-in page, reload this page.',
  provider_timeout: 'The provider took too long. Send it again, or try another model.',
}

const BY_STATUS: readonly (readonly [from: number, advice: string])[] = [
  [
    500,
    'This is not your fault. Send it again in a moment. With the request id, the operator can find the call.',
  ],
  [429, 'Wait a moment and send it again.'],
  [400, 'Correct what the message names, and send it again.'],
]

/** Returns advice for an error. */
function adviceOn({ code, status }: CallError): string {
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code]!
  const found = BY_STATUS.find(([from]) => status >= from)
  return found?.[1] ?? 'The part that arrived is shown above. Send the message again if it is not enough.'
}
