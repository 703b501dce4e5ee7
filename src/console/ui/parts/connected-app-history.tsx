import type { ConnectedAppEventView, ConnectedAppView } from '../../protocol.js'
import { useLoad } from '../base/use-load.js'
import { Time } from './basics.js'
import { Listing } from './notice.js'
import { EVERY_MODEL, Markup } from './values.js'

/** The terms of an event. Which of them it has depends on its kind. */
interface Terms {
  readonly redirectHost?: string
  readonly scopes?: readonly string[]
  readonly models?: ConnectedAppView['models']
  readonly markup?: ConnectedAppView['markup']
  /** `null` if the cap was removed. */
  readonly cap?: ConnectedAppView['cap'] | null
  readonly endsAt?: number
  readonly connectionId?: string
  readonly label?: string
  readonly reason?: string
}

const REASONS: Readonly<Record<string, string>> = {
  replayed: 'its code or refresh token was used again',
  revoked: 'the app revoked its token',
  removed: 'removed by hand',
}

/** An account may be called operator. */
const BY = { account: 'the account', operator: 'the operator', app: 'the app' } as const

/** The events of a connected app: the terms that its user agreed to, changes of the cap, devices, and who revoked it. */
export function ConnectedAppHistory({ connectedAppId }: { connectedAppId: string }) {
  const history = useLoad('connected-apps/history', { connectedAppId })
  return (
    <Listing what="the history" loaded={history}>
      {({ history: events }) => (
        <ul class="history">
          {events.map((event) => (
            <li key={event.id}>
              <Time at={event.at} />: {event.kind.replaceAll('-', ' ')} by {BY[event.byKind]}{' '}
              {event.byKind === 'account' && event.by}
              <Facts of={event} among={events} />
            </li>
          ))}
        </ul>
      )}
    </Listing>
  )
}

function Facts({ of: event, among }: { of: ConnectedAppEventView; among: readonly ConnectedAppEventView[] }) {
  const terms: Terms | undefined = event.terms
  if (terms === undefined) return undefined
  if (terms.markup !== undefined) return <Consent of={terms} markup={terms.markup} />
  if (terms.cap !== undefined) return <span class="hint">{capText(terms.cap)}</span>
  return (
    <span class="hint">
      {deviceText(terms, among)}
      {terms.reason !== undefined && `: ${REASONS[terms.reason] ?? terms.reason}`}
    </span>
  )
}

/** The terms that the consent page showed. */
function Consent({ of: terms, markup }: { of: Terms; markup: ConnectedAppView['markup'] }) {
  const { cap, endsAt, models = [], redirectHost, scopes = [] } = terms
  return (
    <span class="hint">
      adds <Markup of={markup} />, {capText(cap)},{' '}
      {endsAt === undefined ? (
        'no end'
      ) : (
        <>
          ends <Time at={endsAt} />
        </>
      )}
      , models {models === 'all' ? EVERY_MODEL : models.join(', ') || 'none'}, scopes {scopes.join(', ')}
      {redirectHost !== undefined && `, sent to ${redirectHost}`}
    </span>
  )
}

/** Only the event that added the device has its label. */
function deviceText({ connectionId = '' }: Terms, among: readonly ConnectedAppEventView[]): string {
  const added: Terms | undefined = among.find(
    ({ kind, terms }) => kind === 'device-added' && terms?.connectionId === connectionId,
  )?.terms
  return added?.label ?? `device ${connectionId.slice(0, 8)}`
}

function capText(cap: Terms['cap']): string {
  if (cap === undefined || cap === null) return 'no cap'
  return `at most ${cap.amount} per ${cap.per}${cap.zone === undefined ? '' : ` (${cap.zone})`}`
}
