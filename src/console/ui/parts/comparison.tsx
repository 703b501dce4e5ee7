import type { ComponentChildren } from 'preact'
import type { PeriodView } from '../../protocol.js'
import { formatCount } from '../base/format.js'
import { Figure, Time } from './basics.js'
import { Amount } from './values.js'

/** The figures of a day or a month, each with that of the same part of the one before. */
export function Comparison({
  of: { total, before },
  href,
  children,
}: {
  of: Pick<PeriodView, 'total' | 'before'>
  /** The page that has these figures in parts. */
  href: string
  children: ComponentChildren
}) {
  const was = before.total
  return (
    <dl class="figures four">
      <Figure name={<a href={href}>Charged</a>} note={<Before of={total.cost} before={was.cost} isAmount />}>
        <Amount value={total.cost} />
      </Figure>
      <CountFigure name="Calls" href={href} of={total.calls} before={was.calls} />
      <CountFigure name="Tokens" href={href} of={tokensOf(total)} before={tokensOf(was)} />
      {children}
    </dl>
  )
}

export function CountFigure(props: {
  name: string
  href: string
  of: number
  before: number
  /** Whether there are more than were counted. */
  isCut?: boolean
  isBeforeCut?: boolean
}) {
  const { name, href, of, before, isCut = false, isBeforeCut = false } = props
  return (
    <Figure
      name={<a href={href}>{name}</a>}
      note={
        isCut || isBeforeCut ? (
          `${countText(before, isBeforeCut)} before`
        ) : (
          <Before of={String(of)} before={String(before)} />
        )
      }
    >
      {countText(of, isCut)}
    </Figure>
  )
}

const countText = (count: number, isCut: boolean): string => `${formatCount(count)}${isCut ? ' or more' : ''}`

function tokensOf({ usage }: PeriodView['total']): number {
  return usage.prompt + usage.completion
}

/** The figure before, and the change from it, which is rounded. */
export function Before({ of, before, isAmount }: { of: string; before: string; isAmount?: boolean }) {
  return (
    <>
      {isAmount ? <Amount value={before} /> : formatCount(Number(before))} before
      {Number(before) > 0 && `, ${changeOf(Number(of), Number(before))}`}
    </>
  )
}

function changeOf(now: number, before: number): string {
  const percent = Number(((now / before - 1) * 100).toFixed(1))
  return `${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${formatCount(Math.abs(percent))} %`
}

/** The time that a day or a month is compared with. */
export function PartBefore({ of: { before } }: { of: Pick<PeriodView, 'before'> }) {
  return (
    <>
      <Time at={before.from} /> to <Time at={before.to - 1} />
    </>
  )
}
