import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'

interface Focused {
  readonly element: Element
  readonly key: string
}

/** Keeps the focus nearby if its row or its button is removed: a keyboard user would have to start over. */
export function useRowFocus(keys: readonly string[]) {
  const body = useRef<HTMLTableSectionElement>(null)
  const focused = useRef<Focused>(undefined)
  const before = useRef(keys)
  useLayoutEffect(() => {
    const position = before.current.indexOf(focused.current?.key ?? '')
    before.current = keys
    if (!isLost(focused.current?.element)) return
    const rows = [...(body.current?.querySelectorAll('tr[data-row]') ?? [])]
    const stays = rows.some((row) => row.getAttribute('data-row') === focused.current?.key)
    focused.current = undefined
    const next = rows
      .slice(Math.max(0, stays ? position + 1 : position))
      .concat(rows.slice(0, position).toReversed())
    focusOn(next.map(firstAction).find((found) => found !== null))
  })
  useEffect(
    () => () => {
      // The rows are removed from the page after this.
      queueMicrotask(() => {
        if (isLost(focused.current?.element)) focusOn(undefined)
      })
    },
    [],
  )
  return {
    element: body,
    remember: ({ target }: FocusEvent): void => {
      const element = target as Element
      const key = element.closest('tr[data-row]')?.getAttribute('data-row')
      focused.current = key == null ? undefined : { element, key }
    },
  }
}

/** Whether the element had the focus and was removed with it. */
function isLost(element: Element | undefined): boolean {
  if (element === undefined || element.isConnected) return false
  return document.activeElement === null || document.activeElement === document.body
}

const firstAction = (row: Element): HTMLElement | null => row.querySelector('a, button')

function focusOn(element: HTMLElement | undefined): void {
  const target = element ?? document.getElementById('page-title')
  target?.focus()
}
