import type { KeyView } from '../../protocol.js'
import { Badge, Time } from './basics.js'
import { ModelList } from './values.js'

export const hintOf = ({ prefix, lastFour }: KeyView): string => `${prefix}…${lastFour}`

export const nameOf = (key: KeyView): string => key.label ?? hintOf(key)

export function KeyName({ of }: { of: KeyView }) {
  return (
    <>
      {of.label !== undefined && <span>{of.label} </span>}
      <code>{hintOf(of)}</code>
      {of.metadata !== undefined && <div class="hint">{pairsOf(of.metadata)}</div>}
    </>
  )
}

const pairsOf = (metadata: NonNullable<KeyView['metadata']>): string =>
  Object.entries(metadata)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')

export function KeyRole({ of: { kind, appId, allowedModels } }: { of: KeyView }) {
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
