import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatCount } from '../base/format.js'
import { Button, OneLine } from './basics.js'
import { RoundedAmounts } from './values.js'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
  /** What the rows are sorted by if the reader chooses this column. Amounts are exact decimals. */
  readonly sortBy?: (row: Row) => number | string | undefined
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
  /** Whether other pages have more rows. The rows of one page are not sorted: they would seem to be the first of all. */
  readonly isPage?: boolean
  /** Whether a row is one line where there is room for columns. */
  readonly isOneLine?: boolean
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
  isPage = false,
  isOneLine = false,
}: TableProps<Row>) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const [shown, setShown] = useState(PAGE_ROWS)
  const [order, setOrder] = useState<Order>()
  const sorter = columns.find(({ head }) => head === order?.head)?.sortBy
  const sorted = isPage || sorter === undefined ? rows : sortRows(rows, sorter, order!.isDown)
  const body = useRowFocus(sorted.map(keyOf))
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
        <table class={`table ${isOneLine ? 'one-line' : ''}`}>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ head, isNumber, sortBy }) => (
                <th
                  key={head}
                  scope="col"
                  class={isNumber ? 'number' : ''}
                  aria-sort={order?.head !== head ? undefined : order.isDown ? 'descending' : 'ascending'}
                >
                  {sortBy === undefined || isPage ? (
                    head
                  ) : (
                    <button
                      type="button"
                      class="sort"
                      onClick={() => setOrder((now) => nextOrder(now, head, isNumber === true))}
                    >
                      {head}
                    </button>
                  )}
                </th>
              ))}
              {actions !== undefined && <th scope="col">Actions</th>}
              {detail !== undefined && <th scope="col">Details</th>}
            </tr>
          </thead>
          <tbody ref={body.element} onFocusIn={body.remember}>
            {sorted.slice(0, shown).map((row) => {
              const key = keyOf(row)
              const isOpen = toggled.has(key) !== (key === openKey)
              return (
                <Fragment key={key}>
                  <tr class={isOpen ? 'is-open' : ''} data-row={key}>
                    <OneLine.Provider value={isOneLine}>
                      {columns.map((column, index) => (
                        <Cell key={column.head} column={column} isHead={index === 0}>
                          {column.cell(row)}
                        </Cell>
                      ))}
                    </OneLine.Provider>
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
                      <td colSpan={width}>
                        <RoundedAmounts.Provider value={false}>{detail(row)}</RoundedAmounts.Provider>
                      </td>
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

interface Order {
  readonly head: string
  readonly isDown: boolean
}

/** The largest numbers and the first names come first; then the others, then the order that the table had. */
function nextOrder(now: Order | undefined, head: string, isNumber: boolean): Order | undefined {
  if (now?.head !== head) return { head, isDown: isNumber }
  return now.isDown === isNumber ? { head, isDown: !isNumber } : undefined
}

/** Rows without a value come last. */
function sortRows<Row>(
  rows: readonly Row[],
  sortBy: NonNullable<Column<Row>['sortBy']>,
  isDown: boolean,
): readonly Row[] {
  return rows.toSorted((one, other) => {
    const [value, than] = [sortBy(one), sortBy(other)]
    if (value === undefined || than === undefined)
      return Number(value === undefined) - Number(than === undefined)
    const order = typeof value === 'number' ? value - Number(than) : compareTexts(value, String(than))
    return isDown ? -order : order
  })
}

const DECIMAL_PATTERN = /^-?\d+(?:\.\d+)?$/

/** Exact decimals by their values, and other texts by the alphabet. */
function compareTexts(one: string, other: string): number {
  if (!DECIMAL_PATTERN.test(one) || !DECIMAL_PATTERN.test(other)) return one.localeCompare(other)
  const [value, than] = [nanosOf(one), nanosOf(other)]
  return value < than ? -1 : value > than ? 1 : 0
}

function nanosOf(decimal: string): bigint {
  const [whole = '', places = ''] = decimal.split('.')
  return BigInt(whole + places.padEnd(9, '0'))
}

function Cell<Row>(props: { column: Column<Row>; isHead: boolean; children: ComponentChildren }) {
  const { head, isNumber } = props.column
  const className = isNumber ? 'number' : ''
  const content = (
    <RoundedAmounts.Provider value={isNumber === true}>{props.children}</RoundedAmounts.Provider>
  )
  if (props.isHead) {
    return (
      <th scope="row" class={className} data-head={head}>
        {content}
      </th>
    )
  }
  return (
    <td class={className} data-head={head}>
      {content}
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
