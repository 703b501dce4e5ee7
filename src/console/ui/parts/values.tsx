import { createContext, Fragment } from 'preact'
import { useContext } from 'preact/hooks'
import type { AppView } from '../../protocol.js'
import { percentOf, roundedAmount } from '../base/format.js'
import { Badge, Id } from './basics.js'

/** Whether amounts are rounded, so that those of a column align. */
export const RoundedAmounts = createContext(false)

/**
 * A decimal as the server sent it: no digit is dropped or rounded, but in a column of numbers, where its title is exact. Leading zeros
 * are dimmed, so that small amounts can be compared. The commas between thousands are drawn by CSS, so copied text has none.
 */
export function Amount({ value, unit }: { value: string | undefined; unit?: boolean }) {
  const isRounded = useContext(RoundedAmounts)
  if (value === undefined) return <>–</>
  const text = isRounded ? roundedAmount(value) : value
  const idle = /^-?0\.0*(?=\d)/.exec(text)?.[0] ?? ''
  const [first = '', ...thousands] = idle === '' ? text.split(THOUSANDS) : [text.slice(idle.length)]
  return (
    <span class="amount" {...(isRounded && { title: `${value} credits` })}>
      {idle !== '' && <span class="amount-idle">{idle}</span>}
      {first}
      {thousands.map((digits, at) => (
        <span key={at} class="amount-thousand">
          {digits}
        </span>
      ))}
      {unit && <span class="amount-unit"> credits</span>}
    </span>
  )
}

/** Matches each position of a comma: before the last three, six, … digits of the whole part. */
const THOUSANDS = /(?<=^-?\d+)(?=(?:\d{3})+(?:\.|$))/

/** The id of an app or a model, after its name if it has one. */
export function NamedId({ of: { id, name } }: { of: { id: string; name?: string | undefined } }) {
  return (
    <>
      {name !== undefined && <span>{name} </span>}
      <code>{id}</code>
    </>
  )
}

const SHOWN_MODELS = 3
export const EVERY_MODEL = 'all, later ones too'

/** The first ids of a list of models, whose title contains all of them, or that an app may use every model. */
export function ModelList({ ids }: { ids: AppView['allowedModels'] }) {
  if (ids === 'all') return <>{EVERY_MODEL}</>
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

/** The part of the price that an app adds. */
export function Markup({ of: { basisPoints, flat } }: { of: AppView['markup'] }) {
  return (
    <>
      {percentOf(basisPoints)} %{flat !== undefined && ` and ${flat} per call`}
    </>
  )
}
