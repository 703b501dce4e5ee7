import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatCount } from '../base/format.js'
import { Button } from './basics.js'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
  /** The value for all rows, shown in a last row. */
  readonly foot?: ComponentChildren
}

interface TableProps<Row> {
  readonly caption: string
  /** The first column names the row. */
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly actions?: (row: Row) => ComponentChildren
  /** More about a row, unfolded below it. */
  readonly detail?: (row: Row) => ComponentChildren
  /** The label of the button that unfolds it. */
  readonly detailLabel?: string
  /** The name of a row, for people who only hear the button. */
  readonly nameOf?: (row: Row) => string
  /** The row that is unfolded at first. */
  readonly openKey?: string | undefined
}

const PAGE_ROWS = 60

/** Long tables show more on request. On narrow screens each row becomes a card in which each cell shows its column's name. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  actions,
  detail,
  detailLabel = 'Explain',
  nameOf = keyOf,
  openKey,
}: TableProps<Row>) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const [shown, setShown] = useState(PAGE_ROWS)
  const body = useRowFocus(rows.map(keyOf))
  // Controls in its rows can take the focus. A table of figures alone must take it itself, so that it can be scrolled.
  const isFiguresAlone = actions === undefined && detail === undefined
  const width = columns.length + (actions === undefined ? 0 : 1) + (detail === undefined ? 0 : 1)
  const toggle = (key: string): void => {
    const next = new Set(toggled)
    if (!next.delete(key)) next.add(key)
    setToggled(next)
  }
  return (
    <>
      <div class="table-box" {...(isFiguresAlone && { role: 'region', 'aria-label': caption, tabIndex: 0 })}>
        <table class="table">
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ head, isNumber }) => (
                <th key={head} scope="col" class={isNumber ? 'number' : ''}>
                  {head}
                </th>
              ))}
              {actions !== undefined && <th scope="col">Actions</th>}
              {detail !== undefined && <th scope="col">Details</th>}
            </tr>
          </thead>
          <tbody ref={body.element} onFocusIn={body.remember}>
            {rows.slice(0, shown).map((row) => {
              const key = keyOf(row)
              const isOpen = toggled.has(key) !== (key === openKey)
              return (
                <Fragment key={key}>
                  <tr class={isOpen ? 'is-open' : ''} data-row={key}>
                    {columns.map((column, index) => (
                      <Cell key={column.head} column={column} isHead={index === 0}>
                        {column.cell(row)}
                      </Cell>
                    ))}
                    {actions !== undefined && <td class="row-actions">{actions(row)}</td>}
                    {detail !== undefined && (
                      <td class="row-actions">
                        <button
                          type="button"
                          class="button quiet"
                          aria-expanded={isOpen}
                          onClick={() => toggle(key)}
                        >
                          {isOpen ? 'Hide' : detailLabel}
                          <span class="unseen"> {nameOf(row)}</span>
                        </button>
                      </td>
                    )}
                  </tr>
                  {isOpen && detail !== undefined && (
                    <tr class="detail">
                      <td colSpan={width}>{detail(row)}</td>
                    </tr>
                  )}
                </Fragment>
              )
            })}
          </tbody>
          {columns.some(({ foot }) => foot !== undefined) && (
            <tfoot>
              <tr>
                {columns.map((column, index) => (
                  <Cell key={column.head} column={column} isHead={index === 0}>
                    {column.foot}
                  </Cell>
                ))}
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      {rows.length > shown && (
        <div class="actions more">
          <span class="hint">
            {shown} of {rows.length} are shown.
          </span>
          <Button onPress={() => setShown(shown + PAGE_ROWS)}>Show more</Button>
        </div>
      )}
    </>
  )
}

/** The heading of a table, with the number of its rows and the address of its file. */
export function TableHead({ title, count, csv }: { title: string; count: number | undefined; csv: string }) {
  return (
    <div class="table-head">
      <h2>
        {title} {count !== undefined && <span class="count">{formatCount(count)}</span>}
      </h2>
      <a class="button quiet" href={csv} download>
        Download CSV<span class="unseen"> {title}</span>
      </a>
    </div>
  )
}

function Cell<Row>(props: { column: Column<Row>; isHead: boolean; children: ComponentChildren }) {
  const { head, isNumber } = props.column
  const className = isNumber ? 'number' : ''
  if (props.isHead) {
    return (
      <th scope="row" class={className} data-head={head}>
        {props.children}
      </th>
    )
  }
  return (
    <td class={className} data-head={head}>
      {props.children}
    </td>
  )
}

interface Focused {
  readonly element: Element
  readonly key: string
}

/** Keeps the focus nearby if its row or its button is removed: a keyboard user would have to start over. */
function useRowFocus(keys: readonly string[]) {
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
