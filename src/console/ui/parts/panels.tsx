import type { ComponentChildren } from 'preact'

/** One matter of the home page. Its heading leads to the page behind it. */
export function Panel(props: {
  title: string
  href: string
  /** What its figures are of. */
  hint?: ComponentChildren
  isWide?: boolean
  children: ComponentChildren
}) {
  const { title, href, hint, isWide, children } = props
  return (
    <section class={`panel ${isWide ? 'wide' : ''}`}>
      <h2>
        <a href={href}>{title}</a>
      </h2>
      {hint !== undefined && hint !== false && <p class="hint">{hint}</p>}
      {children}
    </section>
  )
}

interface Ranked {
  readonly key: string
  readonly name: ComponentChildren
  readonly href: string
  readonly figure: ComponentChildren
  /** The length of its bar, compared with the others. No row has one if it is absent. */
  readonly part?: number
}

/** Rows with a figure each, the largest first. `none` is shown if there is no row. */
export function Ranking({ rows, none }: { rows: readonly Ranked[]; none: string }) {
  if (rows.length === 0) return <p class="none">{none}</p>
  const most = Math.max(...rows.map(({ part = 0 }) => part))
  return (
    <ol class="ranking">
      {rows.map(({ key, name, href, figure, part }) => (
        <li key={key}>
          <a href={href}>{name}</a>
          <span class="ranking-figure">{figure}</span>
          {part !== undefined && <progress aria-hidden="true" value={part} max={most > 0 ? most : 1} />}
        </li>
      ))}
    </ol>
  )
}
