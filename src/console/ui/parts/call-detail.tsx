import type {
  CallerView,
  ChargeView,
  EntryView,
  ExplanationView,
  FactsView,
  RoutingView,
} from '../../protocol.js'
import { formatDuration } from '../base/format.js'
import { hrefOf } from '../base/place.js'
import { Badge, Facts, Id, Time } from './basics.js'
import { ChargeFacts } from './charge-facts.js'
import { Amount } from './values.js'

export function EndBadge({ of: { outcome, status } }: { of: ExplanationView }) {
  const tone = outcome === 'completed' ? 'good' : outcome === 'client-left' ? 'warn' : 'bad'
  const text =
    outcome === 'completed'
      ? 'completed'
      : outcome === 'client-left'
        ? 'client left'
        : `${outcome}, ${status}`
  return <Badge tone={tone}>{text}</Badge>
}

interface CallDetailProps {
  readonly facts?: FactsView
  readonly caller?: CallerView
  readonly charge?: ChargeView
  readonly refund?: EntryView['refund']
  readonly explanation?: ExplanationView
  readonly postings?: readonly { readonly account: string; readonly amount: string }[]
  readonly holdId?: string
  readonly memo?: string
  readonly reference?: string
  readonly message?: string
  readonly id?: string
  /** The id that the client saw. */
  readonly requestId?: string
  readonly askedModel?: string
  readonly field?: string
}

/** Explains one call: its route, hold, tokens, price and end. */
export function CallDetail(props: CallDetailProps) {
  const { facts, caller, charge, refund, explanation, postings, holdId } = props
  const { memo, message, reference, id, requestId, askedModel, field } = props
  return (
    <div class="call-detail">
      {message !== undefined && <p>{message}</p>}
      {memo !== undefined && <p>{memo}</p>}
      {reference !== undefined && (
        <p class="hint">
          Reference <code>{reference}</code>
        </p>
      )}
      {refund !== undefined && (
        <p>
          Refunded <Amount value={refund.amount} unit /> of the charge <code>{refund.of}</code>.
        </p>
      )}
      {explanation !== undefined && <Story explanation={explanation} charge={charge} facts={facts} />}
      {explanation === undefined && charge !== undefined && (
        <p class="hint">How the route was chosen is not kept. The ledger keeps the rest.</p>
      )}
      <div class="columns">
        {charge !== undefined && <ChargeFacts charge={charge} />}
        {facts !== undefined && <CallFacts facts={facts} holdId={holdId} entryId={id} />}
        {facts === undefined && requestId !== undefined && (
          <CallerFacts caller={caller} requestId={requestId} askedModel={askedModel} field={field} />
        )}
        {postings !== undefined && postings.length > 0 && (
          <section>
            <h2>Postings</h2>
            <Facts
              of={postings.map(
                ({ account, amount }) => [account, <Amount key={account} value={amount} />] as const,
              )}
            />
          </section>
        )}
      </div>
    </div>
  )
}

type StoryProps = Pick<CallDetailProps, 'charge' | 'facts'> & { explanation: ExplanationView }

function Story({ explanation, charge, facts }: StoryProps) {
  const { routing, holdAmount, outputLimit, firstTokenMs, durationMs, startedAt, finishReason } = explanation
  return (
    <ol class="story">
      <li>
        Arrived at <Time at={startedAt} />
        {explanation.replayed === true && ', as a repeat of an earlier call: nothing was charged again'}
        {explanation.clientRetry !== undefined && `, as the client's retry number ${explanation.clientRetry}`}
        .
      </li>
      {routing !== undefined && <RoutingStory routing={routing} routeId={facts?.routeId} />}
      {holdAmount !== undefined && (
        <li>
          <Amount value={holdAmount} unit /> were put on hold
          {charge !== undefined && ', and freed by the charge'}.
        </li>
      )}
      {outputLimit !== undefined && (
        <li>The request set no output limit; the provider was sent one of {outputLimit} tokens.</li>
      )}
      <li>
        {firstTokenMs !== undefined && `The first token came after ${formatDuration(firstTokenMs)}. `}
        Ended after {formatDuration(durationMs)}: <EndBadge of={explanation} />
        {finishReason !== undefined && `, finish reason ${finishReason}`}.
      </li>
      <li>
        {charge === undefined ? (
          'Nothing was charged.'
        ) : (
          <>
            Charged <Amount value={charge.cost} unit />, based on{' '}
            {charge.basis === 'reported'
              ? "the provider's token counts"
              : 'an estimate, since the provider reported no tokens'}
            .
          </>
        )}
        {explanation.overdraft !== undefined && Number(explanation.overdraft) > 0 && (
          <>
            {' '}
            This left the account <Amount value={explanation.overdraft} unit /> below zero.
          </>
        )}
      </li>
    </ol>
  )
}

const CHOSEN_BY: Readonly<Record<RoutingView['chosenBy'], string>> = {
  pin: 'the caller named the provider',
  order: 'the caller gave the order',
  affinity: 'its session stays on one route',
  sort: 'the caller asked for this sorting',
  weight: 'calls are distributed by weight',
  price: 'it is the cheapest',
  'only-route': 'it is the only one',
}

function RoutingStory({ routing, routeId }: { routing: RoutingView; routeId: string | undefined }) {
  const { considered, excluded, behind, chosenBy, attempts } = routing
  const first = routeId ?? considered[0]
  return (
    <li>
      {first === undefined ? (
        'No route was left'
      ) : (
        <>
          Route <code>{first}</code>
        </>
      )}
      , because {CHOSEN_BY[chosenBy]}
      {considered.length > 1 && `, of ${considered.length}: ${considered.join(', ')}`}.
      {excluded.map(({ routeId: out, why }) => (
        <span key={out}>
          {' '}
          Excluded {out}: {why}.
        </span>
      ))}
      {behind.map(({ routeId: late, why }) => (
        <span key={late}>
          {' '}
          Moved {late} behind the others: {why}.
        </span>
      ))}
      {attempts.length > 0 &&
        ` Tried ${attempts.map((one) => `${one.routeId} (${howItEnded(one)})`).join(', then ')}.`}
    </li>
  )
}

function howItEnded({ outcome, why }: RoutingView['attempts'][number]): string {
  return why === undefined ? outcome : `${outcome}: ${why}`
}

function CallFacts(props: { facts: FactsView; holdId: string | undefined; entryId: string | undefined }) {
  const { facts, holdId, entryId } = props
  const { sessionId } = facts
  return (
    <section>
      <h2>Call</h2>
      <Facts
        of={[
          ['Model', code(facts.model)],
          ['Provider', facts.provider],
          ['Route', code(facts.routeId)],
          ['Key', <KeyLinks key="key" of={facts} />],
          ['App', facts.appId],
          ['App, as the client claims', facts.claimedAppId],
          [
            'Session',
            sessionId === undefined ? undefined : <a href={hrefOf('calls', { sessionId })}>{sessionId}</a>,
          ],
          ['End user', facts.user],
          ['Request', code(facts.requestId)],
          ['Reply', code(facts.completionId)],
          ['Hold', code(holdId)],
          ['Entry', code(entryId)],
        ]}
      />
    </section>
  )
}

const code = (text: string | undefined) => (text === undefined ? undefined : <code>{text}</code>)

/** For a request that was refused before its model was found. */
function CallerFacts({ caller, requestId, askedModel, field }: CallDetailProps) {
  return (
    <section>
      <h2>Request</h2>
      <Facts
        of={[
          ['Model asked for', code(askedModel)],
          ['Refused field', code(field)],
          ['Account', caller?.account],
          ['Key', caller === undefined ? undefined : <KeyLinks key="key" of={caller} />],
          ['App', caller?.appId],
          ['Request', <code key="request">{requestId}</code>],
        ]}
      />
    </section>
  )
}

function KeyLinks({ of: { account, credentialId, credentialLabel } }: { of: CallerView }) {
  return (
    <>
      <a href={hrefOf('keys', { account, shown: 'all' })}>{credentialLabel ?? <Id of={credentialId} />}</a>
      {credentialLabel !== undefined && (
        <>
          <br />
          <Id of={credentialId} />
        </>
      )}
      <br />
      <a href={hrefOf('calls', { account, key: credentialId })}>Calls with this key</a>
    </>
  )
}
