import { Fragment } from 'preact'
import { Badge, Id } from './basics.js'

const SHOWN_MODELS = 3

/** The first ids of a list of models. Its title contains all of them. */
export function ModelList({ ids }: { ids: readonly string[] }) {
  if (ids.length === 0) return <Badge tone="warn">none</Badge>
  const rest = ids.length - SHOWN_MODELS
  return (
    <span title={ids.join(', ')}>
      {ids.slice(0, SHOWN_MODELS).map((id, at) => (
        <Fragment key={id}>
          {at > 0 && ', '}
          <Id of={id} />
        </Fragment>
      ))}
      {rest > 0 && ` and ${rest} more`}
    </span>
  )
}
