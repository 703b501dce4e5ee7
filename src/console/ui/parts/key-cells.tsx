import type { KeyView } from '../../protocol.js'
import { Badge, Time } from './basics.js'
import { ModelList } from './values.js'

export const hintOf = ({ prefix, lastFour }: KeyView): string => `${prefix}…${lastFour}`

/** The start of the id, if it has no token of its own to tell it by. */
export const nameOf = (key: KeyView): string =>
  key.label ?? (key.source === undefined ? hintOf(key) : `${key.source} ${key.credentialId.slice(0, 8)}`)

export function KeyName({ of }: { of: KeyView }) {
  return (
    <>
      {of.label !== undefined && <span>{of.label} </span>}
      <code>{of.source === undefined ? hintOf(of) : of.credentialId}</code>
      {of.metadata !== undefined && <div class="hint">{pairsOf(of.metadata)}</div>}
    </>
  )
}

const pairsOf = (metadata: NonNullable<KeyView['metadata']>): string =>
  Object.entries(metadata)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')

export function KeyRole({ of: { kind, source, appId, allowedModels } }: { of: KeyView }) {
  if (source === 'session') return <>session of a page{appId !== undefined && `, app ${appId}`}</>
  if (kind === 'access-token') return <>app {appId}</>
  if (allowedModels === undefined) return <>API key</>
  return (
    <>
      API key for <ModelList ids={allowedModels} />
    </>
  )
}

export function KeyState({ of: { revokedAt, expiresAt, previousExpiresAt } }: { of: KeyView }) {
  if (revokedAt !== undefined) return <Badge tone="bad">revoked</Badge>
  if (expiresAt !== undefined && expiresAt <= Date.now()) return <Badge tone="warn">expired</Badge>
  return (
    <>
      <Badge tone="good">in use</Badge>
      {expiresAt !== undefined && (
        <>
          {' until '}
          <Time at={expiresAt} />
        </>
      )}
      {previousExpiresAt !== undefined && (
        <>
          , previous token until <Time at={previousExpiresAt} />
        </>
      )}
    </>
  )
}
