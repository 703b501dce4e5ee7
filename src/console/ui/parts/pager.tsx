import { useState } from 'preact/hooks'
import { Button } from './basics.js'

export interface Pages {
  /** Goes into the query; undefined on the first page. */
  readonly after: string | undefined
  readonly number: number
  next(after: string): void
  previous(): void
}

/** Replies name only their next page, so previous pages are remembered here. A new query starts on the first page. */
export function usePages(asked: unknown): Pages {
  const [, setTurned] = useState(0)
  const question = JSON.stringify(asked)
  const trail = trailOf(question)
  const turnTo = (pages: readonly string[]): void => {
    history.replaceState({ pages: { ...keptPages(), [question]: pages } }, '')
    setTurned((before) => before + 1)
  }
  return {
    after: trail.at(-1),
    number: trail.length + 1,
    next: (after) => turnTo([...trail, after]),
    previous: () => turnTo(trail.slice(0, -1)),
  }
}

/** The pages by query, kept in the browser's history, so that going back or reloading shows the same page. */
type Kept = Readonly<Record<string, readonly string[]>>

function keptPages(): Kept {
  return ((history.state ?? {}) as { readonly pages?: Kept }).pages ?? {}
}

function trailOf(question: string): readonly string[] {
  return keptPages()[question] ?? []
}

export function Pager({ pages, next }: { pages: Pages; next: string | undefined }) {
  if (pages.number === 1 && next === undefined) return null
  // The button is removed while the page loads, and would take the focus with it.
  const turn = (go: () => void) => (): void => {
    go()
    document.getElementById('page-title')?.focus()
  }
  return (
    <nav class="pager" aria-label="Pages">
      <Button onPress={turn(pages.previous)} isDisabled={pages.number === 1}>
        Previous
      </Button>
      <span>Page {pages.number}</span>
      <Button onPress={turn(() => next !== undefined && pages.next(next))} isDisabled={next === undefined}>
        Next
      </Button>
    </nav>
  )
}
