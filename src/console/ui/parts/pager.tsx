import { useState } from 'preact/hooks'
import { Button } from './basics.js'

export interface Pages {
  /** Goes into the query; undefined on the first page. */
  readonly after: string | undefined
  readonly number: number
  next(after: string): void
  previous(): void
}

/** Pages that know only their next one: the ones before are remembered. Another question begins anew. */
export function usePages(question: string): Pages {
  const [state, setState] = useState<{ question: string; trail: readonly string[] }>({ question, trail: [] })
  const trail = state.question === question ? state.trail : []
  return {
    after: trail.at(-1),
    number: trail.length + 1,
    next: (after) => setState({ question, trail: [...trail, after] }),
    previous: () => setState({ question, trail: trail.slice(0, -1) }),
  }
}

export function Pager({ pages, next }: { pages: Pages; next: string | undefined }) {
  if (pages.number === 1 && next === undefined) return null
  // Its button goes while the page is read, and would take the focus with it.
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
